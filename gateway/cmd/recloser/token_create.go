package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) tokenCreateCommand() *cobra.Command {
	var t tokenRun
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make a token; its secret is shown this once",
		Example: `  recloser token create cms --role operator --group coast --for 90d
  recloser token create -c recloser.yaml --role admin --no-expiry
  recloser token create panel --for 1d -o json | jq -r .secret`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.name = args[0]
			}
			return p.createToken(cmd.Context(), t)
		},
	}
	flags := cmd.Flags()
	grouped(flags, "What it is for", func(flags *pflag.FlagSet) {
		flags.StringVar(&t.role, "role", string(auth.Viewer), "a `role`: "+either(roles()))
		flags.StringVar(&t.group, "group", "", "only for dependencies of this `group`")
		flags.StringVar(&t.length, "for", "", "`time` it holds, such as 90d")
		flags.StringVar(&t.until, "until", "", "`when` it ends: 18:00 or 2027-01-31T18:00")
		flags.BoolVar(&t.noExpiry, "no-expiry", false, "until it is revoked")
	})
	grouped(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVarP(&t.form, "output", "o", "secret", "a `form`: secret, json or yaml")
	})
	t.forms, t.colour = []string{"secret", formJSON, formYAML}, "never"
	t.flagsOffline(flags)
	_ = cmd.RegisterFlagCompletionFunc("group", t.complete(groupsOnly))
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func roles() []string {
	var names []string
	for _, r := range auth.Roles() {
		names = append(names, string(r))
	}
	return names
}

func (p *program) createToken(ctx context.Context, t tokenRun) error {
	if err := t.check(); err != nil {
		return err
	}
	if !slices.Contains(roles(), t.role) {
		return badUsage("--role is %s, not %q", either(roles()), t.role)
	}
	expires, err := t.expires(time.Now())
	if err != nil {
		return err
	}
	if t.name == "" {
		t.name = t.defaultName()
	}
	var token client.NewToken
	var body []byte
	if t.config != "" {
		token, body, err = t.createOffline(ctx, expires)
	} else {
		token, body, err = t.createOnline(ctx, expires)
	}
	if err != nil {
		return err
	}
	if t.form != "secret" {
		if err := writeDocument(p.stdout, t.form, body); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(p.stdout, token.Secret); err != nil {
		return err
	}
	end := "until it is revoked"
	if token.Expires != nil {
		end = "until " + token.Expires.UTC().Format("2006-01-02 15:04 UTC")
	}
	fmt.Fprintf(p.stderr, "Token %s for %s: %s, %s. Keep it now, it is never shown again.\n", plain.Line(token.ID), plain.Line(token.Name), mayWhat(token.Token), end)
	return nil
}

// expires returns when the token ends, zero for never. One of the flags must say.
func (t *tokenRun) expires(now time.Time) (time.Time, error) {
	switch {
	case t.noExpiry && t.length == "" && t.until == "":
		return time.Time{}, nil
	case t.length != "" && t.until == "" && !t.noExpiry:
		d, err := length("for", t.length)
		return now.Add(d), err
	case t.until != "" && t.length == "" && !t.noExpiry:
		at, err := moment("until", t.until, now)
		if err == nil && !at.After(now) {
			err = badUsage("--until must lie ahead")
		}
		return at, err
	}
	return time.Time{}, badUsage("say once how long it holds: --for 90d, --until 2027-01-31T18:00, or --no-expiry")
}

// defaultName is what it may do.
func (t *tokenRun) defaultName() string {
	if t.group != "" {
		return t.role + " " + t.group
	}
	return t.role
}

func mayWhat(t client.Token) string {
	if t.Group != "" {
		return fmt.Sprintf("%s in group %s", t.Role, plain.Line(t.Group))
	}
	return t.Role + " of everything"
}

func (t *tokenRun) createOnline(ctx context.Context, expires time.Time) (token client.NewToken, body []byte, err error) {
	api, err := t.open()
	if err != nil {
		return token, nil, err
	}
	request := struct {
		Name     string     `json:"name"`
		Role     string     `json:"role"`
		Group    string     `json:"group,omitempty"`
		Until    *time.Time `json:"until,omitempty"`
		NoExpiry bool       `json:"no_expiry,omitempty"`
		By       string     `json:"by,omitempty"`
	}{Name: t.name, Role: t.role, Group: t.group, NoExpiry: expires.IsZero(), By: by()}
	if !expires.IsZero() {
		request.Until = &expires
	}
	answer, err := api.Act(ctx, http.MethodPost, "tokens", nil, request)
	if err != nil {
		return token, nil, err
	}
	if err := answer.Into(&token); err != nil {
		return token, nil, err
	}
	if token.Secret == "" {
		return token, nil, exit{exitFailed, errors.New("the answer has no token in it: is that a gateway? Look with recloser token list")}
	}
	return token, answer.Body, nil
}

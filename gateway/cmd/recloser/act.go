package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// act is what an operator does to dependencies: one command line of isolate,
// hold, release, reset or trial.
type act struct {
	connection
	printing
	verb   string // "isolate"
	lasts  bool   // it must be said for how long
	send   func(ctx context.Context, api *client.Client, d client.Dependency, a act) (client.Answer, error)
	names  []string
	groups []string
	dryRun bool
	// What is said of it.
	length, until, reason string
	noExpiry              bool
	ifVersion             uint64
	hasVersion            bool
	// What length and until mean.
	lasting time.Duration
	end     time.Time
}

// command makes the command of an act; the rest of cmd is filled in.
func (p *program) actCommand(a act, cmd *cobra.Command) *cobra.Command {
	cmd.Use = a.verb + " ID|PATTERN..."
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = a.complete(idsOnly)
	flags := cmd.Flags()
	heading := "Why"
	if a.lasts {
		heading = "How long and why"
	}
	grouped(flags, heading, func(flags *pflag.FlagSet) {
		if a.lasts {
			flags.StringVar(&a.length, "for", "", "`time` it lasts, such as 45m, 2h or 90d")
			flags.StringVar(&a.until, "until", "", "`when` it ends: 18:00 or 2027-01-31T18:00")
			flags.BoolVar(&a.noExpiry, "no-expiry", false, "until it is released")
		}
		flags.StringVar(&a.reason, "reason", "", "`why`, shown to everybody who looks")
	})
	grouped(flags, "Which", func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&a.groups, "group", nil, "all of this `group`, too")
		flags.BoolVar(&a.dryRun, "dry-run", false, "change nothing, only say what would be")
		flags.Uint64Var(&a.ifVersion, "if-version", 0, "only at this version; its `number` is in -o wide")
	})
	flags.Lookup("if-version").DefValue = "0"
	a.printing.flags(flags, formTable, formWide, formJSON, formYAML, formName)
	a.connection.flags(flags)
	_ = cmd.RegisterFlagCompletionFunc("group", a.complete(groupsOnly))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.names, a.hasVersion = args, flags.Changed("if-version")
		return p.act(cmd.Context(), a)
	}
	return cmd
}

func (p *program) act(ctx context.Context, a act) error {
	switch {
	case len(a.names) == 0 && len(a.groups) == 0:
		return badUsage("%s what? Name a dependency or a --group", a.verb)
	case a.check() != nil:
		return a.check()
	}
	if err := p.fill(&a); err != nil {
		return err
	}
	api, seen, err := a.fetch(ctx)
	if err != nil {
		return err
	}
	chosen, err := seen.choose(a.names, a.groups, false)
	switch {
	case err != nil:
		p.tellRefused(ctx, api) // it may be in there
		return err
	case a.hasVersion && len(chosen) != 1:
		return badUsage("--if-version is the version of one dependency, not of %d", len(chosen))
	}
	if a.dryRun {
		fmt.Fprintf(p.stderr, "Nothing is changed. This would %s %s now:\n", a.verb, count(len(chosen), "dependency, which is", "dependencies, which are"))
		return statusRun{printing: a.printing}.write(p.stdout, chosen, seen.at.At)
	}
	if a.noExpiry {
		fmt.Fprintln(p.stderr, "It has no end: it stays so until somebody releases it.")
	}
	var done []client.Entry[client.Dependency]
	var failed error
	now := seen.at.At
	for _, d := range chosen {
		answer, err := a.send(ctx, api, d.Value, a)
		if err == nil {
			if a.verb == "release" && d.Value.Override == nil {
				fmt.Fprintf(p.stderr, "Nothing was set for %s.\n", plain.Line(d.Value.ID))
			}
			var after client.Dependency
			err = answer.Into(&after)
			done, now = append(done, client.Entry[client.Dependency]{Value: after, Raw: answer.Body}), answer.At
		}
		if err != nil && len(chosen) > 1 { // the others may still want it
			fmt.Fprintf(p.stderr, "%s\n", inWords(fmt.Errorf("%s: %w", d.Value.ID, err)))
		}
		failed = cmp.Or(failed, err)
	}
	if len(done) > 0 {
		if err := (statusRun{printing: a.printing}).write(p.stdout, done, now); err != nil {
			return err
		}
	}
	if failure, ok := errors.AsType[*client.Error](failed); ok && len(chosen) > 1 {
		return exit{code: codeOf(failure.Kind)}
	}
	return failed
}

// fill asks for what must be said and is not, if there is somebody to ask.
func (p *program) fill(a *act) error {
	in := bufio.NewReader(p.stdin)
	given := 0
	for _, is := range []bool{a.length != "", a.until != "", a.noExpiry} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return badUsage("give one of --for, --until and --no-expiry: how long?")
	case a.lasts && given == 0 && p.asks:
		text, err := p.ask(in, "For how long (such as 45m, 2h, 90d; none: until it is released)? ")
		if err != nil {
			return err
		}
		if a.noExpiry = text == "none"; !a.noExpiry {
			a.length = text
		}
	case a.lasts && given == 0 && strings.TrimSpace(a.reason) == "":
		return badUsage("say how long: --for 1h, --until 18:00, or --no-expiry; and %s", sayWhy)
	case a.lasts && given == 0:
		return badUsage("say how long: --for 1h, --until 18:00, or --no-expiry")
	}
	var err error
	switch {
	case a.length != "":
		if a.lasting, err = length("for", a.length); err != nil {
			return err
		}
	case a.until != "":
		if a.end, err = moment("until", a.until, time.Now()); err != nil {
			return err
		}
	}
	if strings.TrimSpace(a.reason) == "" && p.asks {
		if a.reason, err = p.ask(in, "Why? "); err != nil {
			return err
		}
	}
	if a.reason = strings.TrimSpace(a.reason); a.reason == "" {
		return badUsage(sayWhy)
	}
	return nil
}

const sayWhy = `say why: --reason "they change their database"`

// ask returns one line that somebody writes.
func (p *program) ask(in *bufio.Reader, question string) (string, error) {
	fmt.Fprint(p.stderr, question)
	line, err := in.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		if err != nil {
			fmt.Fprintln(p.stderr)
		}
		return "", badUsage("no answer: nothing is done")
	}
	return line, nil
}

// words is what the API is told of an act.
type words struct {
	Mode      string     `json:"mode,omitempty"`
	For       string     `json:"for,omitempty"`
	Until     *time.Time `json:"until,omitempty"`
	NoExpiry  bool       `json:"no_expiry,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	By        string     `json:"by,omitempty"`
	IfVersion *uint64    `json:"if_version,omitempty"`
}

func (a act) words(mode string) words {
	w := words{Mode: mode, NoExpiry: a.noExpiry, Reason: a.reason, By: by()}
	if a.lasting > 0 {
		w.For = a.lasting.String()
	}
	if !a.end.IsZero() {
		w.Until = &a.end
	}
	if a.hasVersion {
		w.IfVersion = &a.ifVersion
	}
	return w
}

// by is who acts, where no token says so.
func by() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

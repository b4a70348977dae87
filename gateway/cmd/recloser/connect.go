package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// serverTopic is what recloser help server says.
func serverTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "server",
		Short: "Where the gateway is, and what it is shown",
		Long: `Commands that look and act speak to the admin address of a running gateway:

  --server URL         where it is; else RECLOSER_SERVER, else ` + client.DefaultServer + `
  --token-file FILE    a token to show there; else the one in RECLOSER_TOKEN,
                       else the one in ~/.config/recloser/token
  --ca FILE            certificates (PEM) to trust; else those in the file
                       RECLOSER_CA names, else the system's
  --insecure-http      let the token go over plain http to another machine`,
	}
}

// connection is where a command finds the gateway.
type connection struct {
	server, tokenFile, ca string
	insecureHTTP          bool
}

func (c *connection) flags(flags *pflag.FlagSet) {
	grouped(flags, serverFlags, func(flags *pflag.FlagSet) {
		flags.StringVar(&c.server, "server", "", "admin address of the gateway, a `URL`; else RECLOSER_SERVER, else "+client.DefaultServer)
		flags.StringVar(&c.tokenFile, "token-file", "", "a token is in this `file`; else in RECLOSER_TOKEN, else in ~/.config/recloser/token")
		flags.StringVar(&c.ca, "ca", "", "certificates (PEM) to trust are in this `file`; else in that of RECLOSER_CA, else the system's")
		flags.BoolVar(&c.insecureHTTP, "insecure-http", false, "let the token go over plain http to another machine")
	})
}

// open returns a client. Nothing has been sent when it returns.
func (c *connection) open() (*client.Client, error) {
	token, err := client.ReadToken(c.tokenFile)
	if err != nil {
		return nil, err
	}
	var ca []byte
	if file := cmp.Or(c.ca, os.Getenv("RECLOSER_CA")); file != "" {
		if ca, err = os.ReadFile(file); err != nil { //nolint:gosec // who calls it says which file he means
			return nil, badUsage("the certificates of --ca or RECLOSER_CA cannot be read: %w", err)
		}
	}
	return client.New(client.Options{
		Server: cmp.Or(c.server, os.Getenv("RECLOSER_SERVER")),
		Token:  token, CA: ca, InsecureHTTP: c.insecureHTTP,
		Agent: "recloser/" + gateway.Version(),
	})
}

// fetch opens a client, reads the dependencies and keeps both.
func (c *connection) fetch(ctx context.Context) (*client.Client, *snapshot, error) {
	api, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	s, err := look(ctx, api)
	return api, s, err
}

// snapshot is all dependencies at one moment.
type snapshot struct {
	all []client.Entry[client.Dependency]
	at  client.Answer
}

func look(ctx context.Context, api *client.Client) (*snapshot, error) {
	answer, err := api.Get(ctx, "dependencies", nil)
	if err != nil {
		return nil, err
	}
	all, err := client.List[client.Dependency](answer, "dependencies")
	return &snapshot{all, answer}, err
}

// tellRefused says so if the gateway did not take its config as it is now: what it
// does is not what is written there then.
func (p *program) tellRefused(ctx context.Context, api *client.Client) {
	answer, err := api.Get(ctx, "nodes", nil)
	if err != nil {
		return // what was asked for is shown all the same
	}
	nodes, _ := client.List[client.Node](answer, "nodes")
	for _, n := range nodes {
		if r := n.Value.Reload; r != nil && !r.Taken {
			fmt.Fprintln(p.stderr, plain.Refused(r.Fault))
		}
	}
}

// oneArgument asks for exactly one, and says what it is.
func oneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s", what)
		}
		return nil
	}
}

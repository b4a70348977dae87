package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) resetCommand() *cobra.Command {
	return p.actCommand(act{verb: "reset", send: post("reset")}, &cobra.Command{
		Short: "Close dependencies and forget what was seen of them",
		Example: `  recloser reset hotel-3 --reason "it has a new address"
  recloser reset 'hotel-*' --reason "our own network was down"
  recloser reset hotel-3 --reason "false alarm" --if-version 17`,
	})
}

// post sends an act that is a path of its own.
func post(what string) func(context.Context, *client.Client, client.Dependency, act) (client.Answer, error) {
	return func(ctx context.Context, api *client.Client, d client.Dependency, a act) (client.Answer, error) {
		return api.Act(ctx, http.MethodPost, "dependencies/"+escape(d.ID)+"/"+what, nil, a.words(""))
	}
}

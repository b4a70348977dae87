package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) isolateCommand() *cobra.Command {
	return p.actCommand(act{verb: "isolate", lasts: true, send: override("isolated")}, &cobra.Command{
		Short: "Cut dependencies off by hand",
		Example: `  recloser isolate hotel-3 --for 1h --reason "they change their database"
  recloser isolate 'hotel-*' --until 18:00 --reason "power cut" --dry-run
  recloser isolate --group coast --no-expiry --reason "the contract ended"`,
	})
}

// override sends an isolation, or the opposite.
func override(mode string) func(context.Context, *client.Client, client.Dependency, act) (client.Answer, error) {
	return func(ctx context.Context, api *client.Client, d client.Dependency, a act) (client.Answer, error) {
		return api.Act(ctx, http.MethodPut, "dependencies/"+escape(d.ID)+"/override", nil, a.words(mode))
	}
}

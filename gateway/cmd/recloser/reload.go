package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) reloadCommand() *cobra.Command {
	var c connection
	var reason string
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the gateway read its config file again: all of it or nothing",
		Example: `  recloser reload
  recloser check recloser.yaml && recloser reload --reason "hotel-7 is new"
  recloser reload --server https://gateway-2.example:8081`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.open()
			if err != nil {
				return err
			}
			answer, err := api.Act(cmd.Context(), http.MethodPost, "reload", nil, words{Reason: reason, By: by()})
			var refused *client.Error
			if errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity {
				return exit{exitBadConfig, err} // it is the file that is wrong, not the command line
			}
			if err != nil {
				return err
			}
			var did client.Reloaded
			if err := answer.Into(&did); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "The config is in force: %s. Every breaker kept its state.\n", plain.Line(did.Changed))
			if len(did.Restart) > 0 {
				fmt.Fprintf(p.stderr, "These need a restart: %s\n", plain.Line(strings.Join(did.Restart, ", ")))
			}
			return nil
		},
	}
	withReason(cmd.Flags(), &reason)
	c.flags(cmd.Flags())
	return cmd
}

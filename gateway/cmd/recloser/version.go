package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  recloser version
  recloser version | cut -d ' ' -f 2
  ssh gateway-2 recloser version`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "recloser %s %s %s/%s\n", gateway.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

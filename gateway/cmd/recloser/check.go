package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

func checkCommand() *cobra.Command {
	var named []string
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find every mistake in config files",
		Example: `  recloser check recloser.yaml
  recloser check conf/*.yaml
  recloser check /etc/recloser/recloser.yaml && systemctl reload recloser`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			files := slices.Concat(named, args)
			if len(files) == 0 {
				return exit{exitUsage, errors.New("name at least one file to check")}
			}
			var err error
			for _, file := range files {
				c, fault := config.Load(file)
				if fault != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), inWords(fault))
					err = exit{code: exitBadConfig}
					continue
				}
				for _, w := range c.Warnings {
					fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
				}
				name := ""
				if len(files) > 1 {
					name = file + ": "
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%sok: %s, %s\n", name,
					count(len(c.Dependencies), "dependency", "dependencies"), count(len(c.Routes), "route", "routes"))
			}
			return err
		},
	}
	cmd.Flags().StringArrayVarP(&named, "config", "c", nil, "a `file` to check, as serve takes it")
	return cmd
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/certs"
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
				if fault == nil {
					fault = checkCertificates(c)
				}
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

// secured is a listener with a certificate.
type secured struct {
	setting string
	*config.TLS
}

func listenersWithTLS(c *config.Config) (all []secured) {
	for _, l := range []secured{{"tls", c.TLS}, {"admin.tls", c.Admin.TLS}} {
		if l.TLS != nil {
			all = append(all, l)
		}
	}
	return all
}

// checkCertificates reads certificates as serve does at its start. That a running
// gateway can reload does not hang on it: it has one.
func checkCertificates(c *config.Config) (err error) {
	for _, l := range listenersWithTLS(c) {
		if _, fault := certs.Load(l.Cert, l.Key, certs.Options{}); fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", c.File, l.setting, fault))
		}
	}
	return err
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

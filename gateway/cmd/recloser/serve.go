package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func serveCommand() *cobra.Command {
	var file, format string
	level := slog.LevelInfo
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long:  "Run the gateway until Ctrl-C or SIGTERM; running calls may then end, unless a second one comes.",
		Example: `  recloser serve -c recloser.yaml
  recloser serve --log-format json 2>>recloser.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLog(cmd.ErrOrStderr(), format, level)
			if err != nil {
				return exit{exitUsage, err}
			}
			c, err := config.Load(file)
			if err != nil {
				return exit{exitBadConfig, err}
			}
			for _, w := range c.Warnings {
				log.WarnContext(cmd.Context(), "the config is allowed and hardly meant", "warning", w)
			}
			g, err := gateway.New(gateway.Options{Config: c, Log: log, Version: version()})
			if err != nil {
				return exit{exitBadConfig, err}
			}
			return g.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "recloser.yaml", "the config `file`")
	cmd.Flags().StringVar(&format, "log-format", "text", "`how` to write the log on stderr: text or json")
	cmd.Flags().TextVar(&level, "log-level", slog.LevelInfo, "least `level` to log: debug, info, warn or error")
	return cmd
}

func newLog(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	default:
		return nil, fmt.Errorf("--log-format is text or json, not %q", format)
	}
}

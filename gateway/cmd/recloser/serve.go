package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func serveCommand(keepLog func(*slog.Logger)) *cobra.Command {
	var file, format, level string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until Ctrl-C or SIGTERM; running calls may then end, unless a
second one comes. What it answers to callers: docs/GATEWAY.md. The config file:
docs/CONFIG.md.`,
		Example: `  recloser serve -c recloser.yaml
  recloser serve --log-format json 2>>recloser.log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("serve takes its config file with -c: recloser serve -c %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLog(cmd.ErrOrStderr(), format, level)
			if err != nil {
				return exit{exitUsage, err}
			}
			c, err := config.Load(file)
			if err != nil {
				return exit{exitBadConfig, err}
			}
			keepLog(log)
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
	cmd.Flags().StringVar(&level, "log-level", "info", "least `level` to log: debug, info, warn or error")
	return cmd
}

func newLog(w io.Writer, format, level string) (*slog.Logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	least, known := levels[strings.ToLower(level)]
	if !known {
		return nil, fmt.Errorf("--log-level is debug, info, warn or error, not %q", level)
	}
	o := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	default:
		return nil, fmt.Errorf("--log-format is text or json, not %q", format)
	}
}

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func serveCommand(keepLog func(*logger)) *cobra.Command {
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
			log, err := newLogger(cmd.ErrOrStderr(), format, level)
			if err != nil {
				return exit{exitUsage, err}
			}
			c, err := config.Load(file)
			if err != nil {
				return exit{exitBadConfig, err}
			}
			keepLog(log)
			stopIgnoring := ignoreSignals(log)
			defer stopIgnoring()
			for _, w := range c.Warnings {
				log.WarnContext(cmd.Context(), "the config is allowed and hardly meant", "warning", w)
			}
			g, err := gateway.New(gateway.Options{Config: c, Log: log.Logger, Version: version()})
			if err != nil {
				return exit{exitBadConfig, err}
			}
			err = g.Run(cmd.Context())
			if err != nil {
				log.say(inWords(err)) // not to stderr itself, where it could wait for ever
				err = exit{code: exitFailed}
			}
			log.flush()
			return err
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "recloser.yaml", "the config `file`")
	cmd.Flags().StringVar(&format, "log-format", "text", "`how` to write the log on stderr: text or json")
	cmd.Flags().StringVar(&level, "log-level", "info", "least `level` to log: debug, info, warn or error")
	return cmd
}

// ignoreSignals keeps serve alive when whoever reads its log is gone (SIGPIPE),
// and when a terminal is (SIGHUP). The result takes back the latter.
func ignoreSignals(log *logger) (stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				log.Info("reload comes in a later version: restart to read the file again")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(done)
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// serveRun is a command line of recloser serve.
type serveRun struct {
	file, format, level    string
	listen, admin, storage string
}

func (p *program) serveCommand() *cobra.Command {
	var s serveRun
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until Ctrl-C or SIGTERM; running calls may then end, unless a
second one comes. SIGHUP has it read its config again. What callers get is in
docs/GATEWAY.md, and the config file in docs/CONFIG.md.`,
		Example: `  recloser serve -c recloser.yaml
  recloser serve -c recloser.yaml --listen :9090 --storage off
  recloser serve --log-format json 2>>recloser.log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("serve takes its config file with -c: recloser serve -c %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), s, cmd.Flags()) },
	}
	flags := cmd.Flags()
	grouped(flags, "Config", func(flags *pflag.FlagSet) {
		flags.StringVarP(&s.file, "config", "c", "recloser.yaml", "the config `file`")
		flags.StringVar(&s.listen, "listen", "", "`address` for calls; before RECLOSER_LISTEN")
		flags.StringVar(&s.admin, "admin-listen", "", "`address` for people; before RECLOSER_ADMIN_LISTEN")
		flags.StringVar(&s.storage, "storage", "", "`file` or off; before RECLOSER_STORAGE")
	})
	grouped(flags, "Log", func(flags *pflag.FlagSet) {
		flags.StringVar(&s.format, "log-format", "text", "a `form`: text or json")
		flags.StringVar(&s.level, "log-level", "info", "`level`: debug, info, warn, error")
	})
	return cmd
}

// overrides are what goes before the file, the strongest last.
func (s serveRun) overrides(flags *pflag.FlagSet) []config.Override {
	all := config.Environment()
	for _, o := range []struct{ flag, path, value string }{
		{"listen", "listen", s.listen}, {"admin-listen", "admin.listen", s.admin}, {"storage", "storage", s.storage},
	} {
		if flags.Changed(o.flag) {
			all = append(all, config.Override{Path: o.path, Value: o.value, Origin: "flag --" + o.flag})
		}
	}
	return all
}

func (p *program) serve(ctx context.Context, s serveRun, flags *pflag.FlagSet) error {
	log, err := newLogger(p.stderr, s.format, s.level)
	if err != nil {
		return exit{exitUsage, err}
	}
	overrides := s.overrides(flags)
	load := func() (*config.Config, error) { return config.Load(s.file, overrides...) }
	c, err := load()
	if err != nil {
		return exit{exitBadConfig, err}
	}
	p.keepLog(log)
	defer runtime.KeepAlive(collectLessOften()) // to the end of serve
	for _, w := range c.Warnings {
		log.WarnContext(ctx, "the config is allowed and hardly meant", "warning", w)
	}
	g, err := gateway.New(gateway.Options{
		Config: c, Load: load, Log: log.Logger,
		Started: func() { notify("READY=1") },
	})
	if err != nil {
		return exit{exitBadConfig, err}
	}
	stopSignals := handleSignals(ctx, log, g.Reload)
	defer stopSignals()
	defer context.AfterFunc(ctx, func() { notify("STOPPING=1") })()
	serving, ended := context.WithCancel(context.WithoutCancel(ctx)) // to the end of the last call
	defer ended()
	go watchdog(serving, func() {
		for _, d := range g.Dependencies().All() {
			d.Breaker.Brief() // a lock that nobody gives back would hold us up here, too
		}
	})
	err = g.Run(ctx)
	if err != nil {
		log.say(inWords(err)) // not to stderr itself, where it could wait for ever
		err = exit{code: exitFailed}
	}
	log.flush()
	return err
}

// collectLessOften has the collector run when the heap is five times what is in use,
// instead of twice: a gateway keeps little, and lets go of much with each call. That
// is a fifth of its CPU time for some tens of megabytes. GOGC goes before.
//
// What it returns is a ballast, to be kept alive. It counts as in use, so the collector
// waits for some 80 MB even if a gateway has but a few in use. It takes no memory, as
// nobody touches it.
func collectLessOften() []byte {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(400)
	return make([]byte, 12<<20)
}

// handleSignals keeps serve alive when whoever reads its log is gone (SIGPIPE),
// and reloads on SIGHUP, as often as it comes but one after the other. The result
// takes back the latter.
func handleSignals(ctx context.Context, log *logger, reload func(context.Context) error) (stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				notifyReloading()
				if err := reload(ctx); err != nil && !log.forPrograms { // to whom the gateway has told it
					log.say(inWords(err))
				}
				notify("READY=1")
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

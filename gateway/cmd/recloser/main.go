// Command recloser is the gateway and the tools around it.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	var kept atomic.Pointer[logger] // of the command that runs, if it has one
	go func() {
		<-signals
		if log := kept.Load(); log != nil {
			log.InfoContext(ctx, "told to stop: a second Ctrl-C or SIGTERM stops at once")
		}
		cancel() // an orderly end
		<-signals
		if log := kept.Load(); log != nil {
			log.WarnContext(ctx, "told to stop a second time: stopped at once")
			log.flush()
		}
		os.Exit(exitFailed)
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr, kept.Store))
}

// Command recloser is the gateway and the tools around it.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	var log atomic.Pointer[slog.Logger] // of the command that runs, if it has one
	log.Store(slog.New(slog.DiscardHandler))
	go func() {
		<-signals
		log.Load().InfoContext(ctx, "told to stop: a second Ctrl-C or SIGTERM stops at once")
		cancel() // an orderly end
		<-signals
		log.Load().WarnContext(ctx, "told to stop a second time: stopped at once")
		os.Exit(exitFailed)
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr, log.Store))
}

// Command recloser is the gateway and the tools around it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel() // an orderly end
		<-signals
		os.Exit(exitFailed)
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

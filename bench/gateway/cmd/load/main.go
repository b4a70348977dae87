// Command load reports what people who watch cost: a gateway of many dependencies
// under light traffic, with viewers on its live stream and a page in a browser. It
// prints the gateway's processor time, bytes for each viewer, and the share of time
// that the page's script takes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
)

type options struct {
	dependencies, viewers int
	rate                  float64
	d                     time.Duration
	rounds                int
	seed                  uint64

	recloser string
}

func main() {
	var o options
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	flags.IntVar(&o.dependencies, "dependencies", 500, "how many the gateway has")
	flags.IntVar(&o.viewers, "viewers", 20, "how many read the live stream, as the panel's overview does")
	flags.Float64Var(&o.rate, "rate", 250, "calls a second to all dependencies together")
	flags.DurationVar(&o.d, "for", 30*time.Second, "how long each turn is, at least 10s")
	flags.IntVar(&o.rounds, "rounds", 3, "how many turns of each kind; a figure is the median")
	flags.Uint64Var(&o.seed, "seed", 1, "of who is called when")
	flags.StringVar(&o.recloser, "recloser", "", "run this `program` instead of the one of this working tree")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// shortest is how long a turn must be: processor time is counted in hundredths of a
// second.
const shortest = 10 * time.Second

func (o options) check() error {
	switch {
	case o.d < shortest:
		return fmt.Errorf("-for %v says nothing: at least %v", o.d, shortest)
	case o.dependencies < 1 || o.viewers < 1 || o.rounds < 1:
		return errors.New("-dependencies, -viewers and -rounds must be at least 1")
	case o.rate <= 0:
		return errors.New("-rate must be above 0: without calls no number changes")
	}
	return nil
}

func (o options) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "recloser-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say("building Recloser")
	tools, err := entrant.Build(dir, o.recloser, false)
	if err != nil {
		return err
	}
	s, err := openScene(tools, filepath.Join(dir, "gateway"), o)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := s.play(ctx)
	if err != nil {
		return err
	}
	r.print(os.Stdout, o)
	return nil
}

func say(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format+"\n", arguments...) }

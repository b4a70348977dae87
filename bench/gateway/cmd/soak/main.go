// Command soak runs Recloser for a while under load, with faults, acts, reloads
// and dependencies that come and go, and judges whether it stays as it is:
// memory, goroutines, and the state of every hotel.
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

// shortest is how long a run must be to say anything.
const shortest = time.Minute

type options struct {
	d    time.Duration
	seed uint64
	rate float64
	file string

	recloser string
}

func main() {
	var o options
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	flags.DurationVar(&o.d, "for", 20*time.Minute, "how long, at least 1m")
	flags.Uint64Var(&o.seed, "seed", 1, "of faults and acts")
	flags.Float64Var(&o.rate, "rate", 0, "calls a second; 0: 80 % of the highest rate at which p99 is below 50 ms")
	flags.StringVar(&o.file, "csv", "", "write what was seen each second to this `file`")
	flags.StringVar(&o.recloser, "recloser", "", "run this `program` instead of the one of this working tree")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	if o.d < shortest {
		return fmt.Errorf("-for %v says nothing: at least %v", o.d, shortest)
	}
	dir, err := os.MkdirTemp("", "recloser-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say("building Recloser")
	tools, err := entrant.Build(dir, o.recloser, false)
	if err != nil {
		return err
	}
	if o.rate == 0 {
		f := finder{tools: tools, dir: dir}
		if o.rate, err = f.find(ctx); err != nil {
			return err
		}
	}
	table, err := newTable(o.file)
	if err != nil {
		return err
	}
	s, err := openSoak(tools, filepath.Join(dir, "soak"))
	if err != nil {
		return errors.Join(err, table.close())
	}
	defer s.close()
	before, err := s.goroutines(ctx)
	if err != nil {
		return errors.Join(err, table.close())
	}
	if err := errors.Join(s.play(ctx, o.seed, o.rate, o.d, table), table.close(), ctx.Err()); err != nil {
		return err
	}
	rest, err := s.rest(ctx, before)
	if err != nil {
		return err
	}
	if !s.print(os.Stdout, table, rest, o.rate, o.warm(), o.d, o.seed) {
		return errors.New("not all is well: see the report")
	}
	return nil
}

// warm is the time in which memory may grow: connections are made and kept for a
// while, buffers and limits find their size.
func (o options) warm() time.Duration {
	return min(o.d/2, 5*time.Minute)
}

func say(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format+"\n", arguments...) }

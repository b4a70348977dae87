// Command compare lets Recloser with its defaults and its rivals with their best
// settings meet the same faults at the same time, and prints a Markdown report of
// what their guests went through.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
)

// plan is what is run.
type plan struct {
	rows   []row
	cpu    bool
	runs   int
	phases phases
	turn   time.Duration // of a gateway in the row CPU
	file   string        // for JSON; "" is none

	recloser string // the program; "" is the one of this working tree
}

func main() {
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	only := flags.String("rows", "", "only the rows that match this `regexp`, such as \"black hole|CPU\"")
	runs := flags.Int("runs", 5, "how often each row is run")
	quick := flags.Bool("quick", false, "one run with short phases: 6 minutes; says little about worst cases")
	file := flags.String("json", "", "write all figures of all runs to this `file` as well")
	recloser := flags.String("recloser", "", "measure this `program` instead of the one of this working tree")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := plan{runs: max(*runs, 1), phases: fullPhases, turn: 2 * time.Second, file: *file, recloser: *recloser}
	if *quick {
		p.runs, p.phases, p.turn = 1, quickPhases, time.Second
	}
	err := p.choose(*only)
	if err == nil {
		err = p.run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// choose leaves the rows that are wanted.
func (p *plan) choose(only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	var there strings.Builder
	for _, r := range rows() {
		there.WriteString("  " + r.name + "\n")
		if wanted.MatchString(r.name) {
			p.rows = append(p.rows, r)
		}
	}
	p.cpu = wanted.MatchString(cpuRow)
	if len(p.rows) == 0 && !p.cpu {
		return fmt.Errorf("-rows %q matches none of\n%s  %s", only, &there, cpuRow)
	}
	return nil
}

func (p *plan) run(ctx context.Context) error {
	if err := entrant.Need(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "recloser-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say("building Recloser, and Caddy (minutes when first built)")
	tools, err := entrant.Build(dir, p.recloser, true)
	if err != nil {
		return err
	}
	r := report{Machine: machine(tools)}
	kinds := append([]entrant.Kind{entrant.Recloser()}, entrant.Rivals()...)
	for _, k := range kinds {
		r.Gateways = append(r.Gateways, k.Name)
	}
	for i := range p.runs {
		done, err := p.round(ctx, i+1, kinds, tools, filepath.Join(dir, fmt.Sprint(i+1)))
		r.Outcomes = append(r.Outcomes, done...)
		if err != nil {
			return err
		}
		if p.file != "" { // after each round: a long run that is stopped leaves something
			if err := r.save(p.file); err != nil {
				return err
			}
		}
	}
	r.Machine = append(r.Machine, "load at the end "+load())
	r.print(os.Stdout)
	if p.file == "" {
		return nil
	}
	return r.save(p.file)
}

// round runs each row once.
func (p *plan) round(ctx context.Context, number int, kinds []entrant.Kind, t entrant.Tools, dir string) (done []outcome, err error) {
	for i, row := range p.rows {
		say("run %d of %d, %s: %.0f s", number, p.runs, row.name, row.lasts(p.phases, len(kinds)).Seconds())
		o, err := row.run(ctx, kinds, p.phases, t, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return done, err
		}
		o.Run = number
		done = append(done, o)
	}
	if p.cpu {
		all := append([]entrant.Kind{entrant.Bare()}, kinds...)
		say("run %d of %d, %s: %.0f s", number, p.runs, cpuRow, (rounds*p.turn+p.turn/4).Seconds()*float64(len(all)))
		o, err := measureCPU(ctx, all, p.turn, t, dir)
		if err != nil {
			return done, err
		}
		o.Run = number
		done = append(done, o)
	}
	return done, nil
}

func say(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format+"\n", arguments...) }

// Command ratios runs Recloser and its rivals in turn, round by round, and
// prints Markdown tables of medians and ratios, and in the end whether our goals
// hold. A ratio compares calls of the same round, so a busy spell of the machine
// falls on both sides of it.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/recloser-go/recloser"
)

// patience is how many rounds may be made for each calm one that is wanted.
const patience = 3

// plan is how much is measured.
type plan struct {
	rounds int            // calm ones that each column should get
	limit  time.Duration  // no round begins later, calm or not
	spell  time.Duration  // how long a peer's calls are timed in a round
	only   *regexp.Regexp // of the columns
}

func main() {
	flags := flag.NewFlagSet("ratios", flag.ExitOnError)
	quick := flags.Bool("quick", false, "half a minute instead of two; coarser")
	only := flags.String("only", "", "only the columns that match this `regexp`, such as \"one breaker: closed\"")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	if err := run(*quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func run(quick bool, only string) error {
	p := plan{rounds: 25, limit: 150 * time.Second, spell: 30 * time.Millisecond}
	if quick {
		p.rounds, p.limit, p.spell = 7, 30*time.Second, 10*time.Millisecond
	}
	var err error
	if p.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	clock, err := recloser.StartClock(2 * time.Millisecond)
	if err != nil {
		return err
	}
	defer clock.Stop()
	sheets := p.choose(allSheets(clock))
	if len(sheets) == 0 {
		return fmt.Errorf("-only %q matches no column; there are:\n%s", only, titles(allSheets(clock)))
	}
	fmt.Print(origin(), "\n")
	if err := p.measure(sheets); err != nil {
		return err
	}
	for _, s := range sheets {
		s.print()
	}
	printNotes()
	printGoals(sheets)
	return nil
}

// choose leaves the columns that are wanted, and the sheets that have any.
func (p plan) choose(all []*sheet) (chosen []*sheet) {
	for _, s := range all {
		var columns []*column
		for _, c := range s.columns {
			if p.only.MatchString(s.Name + ": " + c.title) {
				columns = append(columns, c)
			}
		}
		if s.columns = columns; len(columns) > 0 {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// measure goes round all columns, so that a busy spell of the machine takes a
// round or two of each and not a column. Those that lack calm rounds get more.
func (p plan) measure(sheets []*sheet) error {
	start := time.Now()
	for round := 0; round < patience*p.rounds && time.Since(start) < p.limit; round++ {
		left := 0
		for _, s := range sheets {
			for _, c := range s.columns {
				if c.done(p.rounds) {
					continue
				}
				if err := c.measure(s.Peers, round, p.spell); err != nil {
					return fmt.Errorf("%s: %s: %w", s.Name, c.title, err)
				}
				left++
			}
		}
		if left == 0 {
			break
		}
		fmt.Fprintf(os.Stderr, "round %d of %d, %.0f s: %d columns measured\n", round+1, p.rounds, time.Since(start).Seconds(), left)
	}
	return nil
}

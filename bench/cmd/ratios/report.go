package main

import (
	"fmt"
	"strings"
)

func (s *sheet) print() {
	fmt.Printf("\n### %s\n\n| peer |", s.Name)
	for _, c := range s.columns {
		fmt.Printf(" %s | ratio |", c.title)
	}
	fmt.Print(" settings |\n|---|", strings.Repeat("---:|---:|", len(s.columns)), "---|\n")
	for i, p := range s.Peers {
		fmt.Printf("| %s |", p.Name)
		for _, c := range s.columns {
			fmt.Printf(" %s | %.2f |", c.cell(i), ratio.of(c, i, c.to(s.Peers)))
		}
		fmt.Printf(" %s |\n", p.Rule)
	}
}

func (c *column) cell(peer int) string {
	m, half := c.median(func(round int) float64 { return c.costs[peer][round].Time })
	if c.bytes {
		return fmt.Sprintf("%.0f", m)
	}
	text := fmt.Sprintf("%.1f ±%.0f %%", m, 100*half/m)
	if c.busy() {
		text = "~" + text
	}
	if n := c.medianAllocs(peer); n >= 0.5 {
		text += fmt.Sprintf(", %.0f allocs", n)
	}
	return text
}

func printNotes() {
	fmt.Printf(`
Median ns a call ± half of what lies between the quartiles. On one processor it is the time of that, whatever else the
machine does; on two, time on the wall divided by the calls of both. Ratio: to the fastest rival with a rate window,
or else to what the table below names; median over the rounds. Bytes: heap of one breaker after %d calls, mean of %d.

A round on two processors is calm if this process got at least %.0f %% of both just before and just after. The others do
not count, unless fewer than %d are calm: ~ marks that.
`, heapCalls, heapBreakers, 100*calmShare, fewCalm)
}

func printGoals(sheets []*sheet) {
	fmt.Print("\n### Goals\n\n| goal | of | compared with | value | at most | holds | calm rounds |\n|---|---|---|---:|---:|---|---:|\n")
	for _, s := range sheets {
		for _, c := range s.columns {
			for _, g := range c.goals {
				fmt.Println(g.line(s, c))
			}
		}
	}
}

func (g goal) line(s *sheet, c *column) string {
	peer, to := s.index(g.peer), c.to(s.Peers)
	value, other, holds := g.kind.of(c, peer, to), s.Peers[to].Name, "yes"
	if g.kind.alone {
		other = ""
	}
	switch {
	case c.busy():
		holds = "not judged: machine busy"
	case !g.holds(value):
		holds = "**no**"
	}
	return fmt.Sprintf("| %s: %s | %s | %s | "+g.kind.format+" | %g | %s | %d of %d |",
		s.Name, c.title, g.peer, other, value, g.most, holds, c.calmRounds(), len(c.calm))
}

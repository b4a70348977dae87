package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
)

// report is all that a run of this command found.
type report struct {
	Machine  []string  `json:"machine"`
	Gateways []string  `json:"gateways"` // ours first
	Outcomes []outcome `json:"outcomes"`
}

// print writes Markdown: what must hold, then all figures.
func (r report) print(w io.Writer) {
	for _, line := range r.Machine {
		fmt.Fprintf(w, "- %s\n", line)
	}
	fmt.Fprint(w, "\n## What must hold\n\nMedian of all runs; the worst of them in brackets. Ours is judged.\n\n")
	t := newTable(w, append(append([]string{"row", "figure"}, r.Gateways...), "must", "held"))
	for _, g := range goals() {
		ours, ok := judge(r.Outcomes, g.row, g.figure, r.Gateways[0])
		if !ok {
			continue
		}
		t.line(append(append([]string{g.row, g.figure}, r.cells(g.row, g.figure, r.Gateways)...), g.limit(), yes(g.held(ours)))...)
	}
	t.end()
	for _, row := range r.rows() {
		fmt.Fprintf(w, "\n## %s\n\n", row)
		gateways := r.Gateways
		if row == cpuRow {
			gateways = append(slices.Clone(gateways), entrant.Bare().Name)
		}
		t := newTable(w, append([]string{"figure"}, gateways...))
		for _, figure := range names {
			if r.has(row, figure) {
				t.line(append([]string{figure}, r.cells(row, figure, gateways)...)...)
			}
		}
		t.end()
		fmt.Fprintf(w, "\n%s\n", r.lateness(row))
	}
}

// limit is what must hold as a cell.
func (g goal) limit() string {
	sign, of := "≤", ""
	if g.atLeast() {
		sign = "≥"
	}
	if g.worst {
		of = " (worst)"
	}
	return fmt.Sprintf("%s %s%s", sign, number(g.must), of)
}

// cells are a figure of these gateways: median and worst.
func (r report) cells(row, figure string, gateways []string) []string {
	cells := make([]string, len(gateways))
	for i, gateway := range gateways {
		cells[i] = "–"
		if v, ok := judge(r.Outcomes, row, figure, gateway); ok {
			cells[i] = fmt.Sprintf("%s (%s)", number(v.median), number(v.worst))
		}
	}
	return cells
}

// rows are those that were run, in order.
func (r report) rows() (order []string) {
	seen := map[string]bool{}
	for _, o := range r.Outcomes {
		if !seen[o.Row] {
			order = append(order, o.Row)
		}
		seen[o.Row] = true
	}
	return order
}

func (r report) has(row, figure string) bool {
	for _, o := range r.Outcomes {
		for _, f := range o.Gateways {
			if _, ok := f[figure]; ok && o.Row == row {
				return true
			}
		}
	}
	return false
}

// lateness says how busy the machine was in the runs of a row.
func (r report) lateness(row string) string {
	var late []string
	for _, o := range r.Outcomes {
		if o.Row == row && o.LateMS > 0 {
			late = append(late, number(o.LateMS))
		}
	}
	if len(late) == 0 {
		return "In turns, each gateway with the same processor to itself."
	}
	return "Guests who came late themselves, p99 in ms, run by run: " + strings.Join(late, ", ") + "."
}

// number writes a figure with three digits that count.
func number(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "never"
	case v == math.Trunc(v) || math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "**no**"
}

// table writes Markdown whose columns are even in plain text too.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, titles []string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)}
	t.line(titles...)
	t.line(strings.Split(strings.Repeat("---,", len(titles)-1)+"---", ",")...)
	return t
}

func (t table) line(cells ...string) {
	fmt.Fprintf(t.w, "| %s\t|\n", strings.Join(cells, "\t| "))
}

func (t table) end() { _ = t.w.Flush() } // an error of stdout shows itself

// save writes everything as JSON.
func (r report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

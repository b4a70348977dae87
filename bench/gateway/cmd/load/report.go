package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// kind is who watches in a turn.
type kind int

const (
	alone     kind = iota // nobody
	watched               // viewers without a browser
	inBrowser             // one page in a browser
	kinds
)

// look is what clocks and counters show at a moment.
type look struct {
	at              time.Time
	cpu             time.Duration // of the gateway
	viewers         int
	stream, pages   int64 // bytes
	frames, renewed int64
	browser         spent
}

// turn is what was seen in one turn. Shares are of its time, rates for each viewer.
type turn struct {
	cpu                 float64
	stream, pages       float64 // bytes/s
	frames, renewed     float64 // 1/s
	script, layout, all float64
	rows                int
}

func (l look) until(m look) turn {
	d := m.at.Sub(l.at).Seconds()
	share := func(a, b time.Duration) float64 { return (b - a).Seconds() / d }
	each := func(a, b int64) float64 { return float64(b-a) / d / float64(max(1, m.viewers)) }
	return turn{
		cpu:    share(l.cpu, m.cpu),
		stream: each(l.stream, m.stream), pages: each(l.pages, m.pages),
		frames: each(l.frames, m.frames), renewed: each(l.renewed, m.renewed),
		script: share(l.browser.script, m.browser.script), layout: share(l.browser.layout, m.browser.layout), all: share(l.browser.all, m.browser.all),
		rows: m.browser.rows,
	}
}

// report gathers turns, of the time when all hotels are well and when one is ill.
type report struct{ well, ill [kinds][]turn }

func (r *report) add(ill bool, k kind, t turn) {
	if ill {
		r.ill[k] = append(r.ill[k], t)
	} else {
		r.well[k] = append(r.well[k], t)
	}
}

// median of one figure over turns.
func median(turns []turn, of func(turn) float64) float64 {
	var values []float64
	for _, t := range turns {
		values = append(values, of(t))
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

// What is aimed at, while all are well.
const (
	goalCPU    = 0.003
	goalBytes  = 30_000
	goalScript = 0.03
)

// load is the number of running programs: with more than there are processors, shares
// of time say little.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

func (r *report) print(w io.Writer, o options) {
	fmt.Fprintf(w, "%d dependencies, %.0f calls/s, %d viewers; %d turns of %v of each kind, medians. Load of the machine over 1, 5 and 15 minutes: %s.\n\n",
		o.dependencies, o.rate, o.viewers, o.rounds, o.d, load())
	fmt.Fprintln(w, "| figure | goal | all well | one trips and recloses each 20 s |\n| --- | ---: | ---: | ---: |")
	line := func(name, goal, format string, scale float64, figure func(turns [kinds][]turn) float64) {
		fmt.Fprintf(w, "| %s | %s | "+format+" | "+format+" |\n", name, goal, scale*figure(r.well), scale*figure(r.ill))
	}
	of := func(k kind, value func(turn) float64) func([kinds][]turn) float64 {
		return func(turns [kinds][]turn) float64 { return median(turns[k], value) }
	}
	cpu := func(t turn) float64 { return t.cpu }
	line("gateway without viewers, % of a core", "", "%.2f", 100, of(alone, cpu))
	line(fmt.Sprintf("gateway with %d viewers, %% of a core", o.viewers), "", "%.2f", 100, of(watched, cpu))
	line("viewers alone, % of a core", fmt.Sprintf("about %.1f", 100*goalCPU), "%.2f", 100, func(turns [kinds][]turn) float64 {
		return median(turns[watched], cpu) - median(turns[alone], cpu)
	})
	line("stream, kB/s a viewer", fmt.Sprintf("%d", goalBytes/1000), "%.1f", 1e-3, of(watched, func(t turn) float64 { return t.stream }))
	line("page loaded anew, kB/s a viewer", "", "%.1f", 1e-3, of(watched, func(t turn) float64 { return t.pages }))
	line("frames of numbers, 1/s a viewer", "", "%.2f", 1, of(watched, func(t turn) float64 { return t.frames }))
	line("loads of the page, 1/min a viewer", "", "%.1f", 60, of(watched, func(t turn) float64 { return t.renewed }))
	line("rows of the page", "", "%.0f", 1, of(inBrowser, func(t turn) float64 { return float64(t.rows) }))
	line("script, % of the time", fmt.Sprintf("about %.0f", 100*goalScript), "%.2f", 100, of(inBrowser, func(t turn) float64 { return t.script }))
	line("style and layout, % of the time", "", "%.2f", 100, of(inBrowser, func(t turn) float64 { return t.layout }))
	line("all tasks of the page's main thread, % of the time", "", "%.2f", 100, of(inBrowser, func(t turn) float64 { return t.all }))
}

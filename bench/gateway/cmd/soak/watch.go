package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// look is how often it is looked.
const look = time.Second

// Columns of what is watched.
const (
	rss = iota
	heap
	goroutines
	watched
)

var columns = [watched]string{rss: "RSS (MiB)", heap: "heap in use (MiB)", goroutines: "goroutines"}

// csvTable holds all that was seen; it is written line by line.
type csvTable struct {
	samples [watched][]sample
	file    io.Closer // nil: none
	w       *csv.Writer
}

func newTable(path string) (*csvTable, error) {
	t := &csvTable{w: csv.NewWriter(io.Discard)}
	if path != "" {
		file, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		t.file, t.w = file, csv.NewWriter(file)
	}
	header := append([]string{"s"}, columns[:]...)
	return t, t.write(append(header, "calls", "ok", "refused by the gateway", "failed", "not closed"))
}

func (t *csvTable) write(cells []string) error {
	if err := t.w.Write(cells); err != nil {
		return err
	}
	t.w.Flush()
	return t.w.Error()
}

func (t *csvTable) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// watch looks at the gateway until ctx has ended.
func (s *soak) watch(ctx context.Context, t *csvTable) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := s.gateway.Ended(); err != nil {
			return err
		}
		now := time.Now()
		states, err := s.admin.states(ctx)
		if err == nil {
			err = s.note(ctx, t, now, states)
		}
		if err != nil && ctx.Err() == nil {
			s.found("the admin API: " + err.Error())
		}
		for _, p := range s.partners {
			if wrong := p.wrong(states[p.ID], now); err == nil && wrong != "" {
				s.found(wrong)
			}
		}
	}
}

// Series of /metrics that are watched.
const (
	heapMetric       = "go_memstats_heap_inuse_bytes"
	goroutinesMetric = "go_goroutines"
)

// note takes a sample.
func (s *soak) note(ctx context.Context, t *csvTable, now time.Time, states map[string]string) error {
	metrics, err := s.admin.metrics(ctx, heapMetric, goroutinesMetric)
	if err != nil {
		return err
	}
	memory, err := s.gateway.Memory()
	if err != nil {
		return err
	}
	at := now.Sub(s.start).Seconds()
	values := [watched]float64{
		rss:        float64(memory) / (1 << 20),
		heap:       metrics[heapMetric] / (1 << 20),
		goroutines: metrics[goroutinesMetric],
	}
	cells := []string{strconv.FormatFloat(at, 'f', 1, 64)}
	for i, v := range values {
		t.samples[i] = append(t.samples[i], sample{at, v})
		cells = append(cells, strconv.FormatFloat(v, 'f', 1, 64))
	}
	notClosed := 0
	for _, state := range states {
		if state != "closed" {
			notClosed++
		}
	}
	for _, n := range []int64{s.calls.Load(), s.ok.Load(), s.refused.Load(), s.other.Load(), int64(notClosed)} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return t.write(cells)
}

// after returns the samples from a time in seconds on.
func after(all []sample, from float64) []sample {
	for i, s := range all {
		if s.at >= from {
			return all[i:]
		}
	}
	return nil
}

// judged is how long a run must be for its memory to be judged: in a shorter one the
// process has not met every kind of fault before the samples begin.
const judged = 10 * time.Minute

// print writes the report, and returns whether all is well.
func (s *soak) print(w io.Writer, t *csvTable, rest idle, rate float64, warm, d time.Duration, seed uint64) bool {
	well := true
	fmt.Fprintf(w, "%.0f calls/s for %v, seed %d: %d calls, %d ok, %d refused or given up by the gateway, %d others, of them %d stayed away; %d acts and reloads.\n\n",
		rate, d, seed, s.calls.Load(), s.ok.Load(), s.refused.Load(), s.other.Load(), s.away.Load(), s.acts.Load())
	fmt.Fprintf(w, "Straight line through the lowest values of %d parts of the time after the warm-up of %v:\n\n", windows, warm)
	fmt.Fprintln(w, "| figure | at its begin | at its end | growth, % | standard error, % | flat |\n| --- | ---: | ---: | ---: | ---: | --- |")
	for i, name := range columns {
		line := trendOf(after(t.samples[i], warm.Seconds()))
		flat := "yes"
		switch {
		case line.flat():
		case d < judged:
			flat = "no, and the run is too short to judge by it"
		default:
			flat, well = "**no**", false
		}
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %+.1f | %.1f | %s |\n", name, line.first, line.last, line.growth(), 100*line.doubt/line.first, flat)
	}
	fmt.Fprintf(w, "\nGoroutines before the first guest: %.0f; after the last, once idle connections are closed: %.0f.\n", rest.before, rest.after)
	if !rest.back() {
		well = false
		fmt.Fprintf(w, "**That is more than %d more.**\n", few)
	}
	wrong := s.wrong()
	fmt.Fprintf(w, "\n%d wrong states or answers.\n", len(wrong))
	for _, text := range wrong {
		well = false
		fmt.Fprintln(w, "- "+text)
	}
	return well
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/bench"
)

// origin says on what machine, and with what modules, the figures were taken.
func origin() string {
	model, load := "unknown processor", "unknown"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			model = strings.TrimLeft(line, "\t :")
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Machine: %s, %d processors, load %s, %s %s/%s.\nModules:",
		model, runtime.NumCPU(), load, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			fmt.Fprintf(&text, " %s@%s", m.Path, m.Version)
		}
	}
	return text.String()
}

// share is how much of the processors that this process asks for it gets,
// from 0 to 1: it spins on each of them for a moment.
func share(procs int) float64 {
	const spell = 15 * time.Millisecond
	var wg sync.WaitGroup
	used, start := bench.ProcessorTime(), time.Now()
	for range procs {
		wg.Go(func() {
			for time.Since(start) < spell {
			}
		})
	}
	wg.Wait()
	return float64(bench.ProcessorTime()-used) / float64(time.Since(start)) / float64(procs)
}

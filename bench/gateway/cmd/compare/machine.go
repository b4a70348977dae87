package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
)

// machine says where, when and with what a run was made.
func machine(t entrant.Tools) []string {
	return []string{
		fmt.Sprintf("%s, %s, %d processors, Linux %s, load %s", time.Now().UTC().Format(time.RFC3339), processor(), runtime.NumCPU(), kernel(), load()),
		entrant.Version(t.Recloser, "version") + ", working tree at " + entrant.Version("git", "describe", "--always", "--dirty"),
		entrant.Version("nginx", "-v"),
		entrant.Version("haproxy", "-v"),
		"Caddy " + entrant.CaddyVersion(),
	}
}

func kernel() string {
	return firstField("/proc/sys/kernel/osrelease", 1)
}

// load is the number of running programs, averaged over 1, 5 and 15 minutes.
func load() string { return firstField("/proc/loadavg", 3) }

// firstField returns the first n words of a file.
func firstField(file string, n int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(n, len(fields))], " ")
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

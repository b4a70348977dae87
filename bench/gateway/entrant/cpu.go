package entrant

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: Linux shows hundredths of a second to
// programs on every machine.
const tick = 10 * time.Millisecond

// CPU returns the processor time that a gateway has taken: all its processes.
func (g *Gateway) CPU() (time.Duration, error) { return cpuOf(g.PID) }

func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	spent, err := parseStat(text)
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for child := range strings.FieldsSeq(string(children)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		more, err := cpuOf(id)
		if err != nil {
			return 0, err
		}
		spent += more
	}
	return spent, nil
}

// parseStat reads user and system time from a line of /proc/PID/stat. The
// program's name in it may hold spaces and parentheses.
func parseStat(line []byte) (time.Duration, error) {
	const utime, stime = 11, 12 // counted from the field after the name
	end := bytes.LastIndexByte(line, ')')
	fields := strings.Fields(string(line[end+1:]))
	if end < 0 || len(fields) <= stime {
		return 0, fmt.Errorf("not a stat line: %q", line)
	}
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// Memory returns the memory that a gateway's first process has in use, in bytes.
func (g *Gateway) Memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc/%d/status", g.PID)
}

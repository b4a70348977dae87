//go:build unix

package fleet_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// usage is what a server has done since it was started.
type usage struct {
	at       time.Time
	requests float64       // that came from clients; what comes in one piece, as a pipeline does, is one
	commands float64       // with those inside of scripts
	busy     time.Duration // of processors
}

func usageOf(server *redistest.Server) usage {
	return readUsage(server.Do("info", "everything").(string), time.Now())
}

func readUsage(info string, at time.Time) usage {
	u := usage{at: at}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "total_reads_processed":
			u.requests = n
		case "total_commands_processed":
			u.commands = n
		case "used_cpu_sys", "used_cpu_user":
			u.busy += time.Duration(n * float64(time.Second))
		}
	}
	return u
}

// since returns how much that is after an earlier one.
func (u usage) since(before usage) load {
	took := u.at.Sub(before.at)
	return load{
		requests: (u.requests - before.requests) / took.Seconds(),
		commands: (u.commands - before.commands) / took.Seconds(),
		core:     float64(u.busy-before.busy) / float64(took),
	}
}

// load is what a server does in a second.
type load struct {
	requests, commands float64
	core               float64 // share of one
}

func TestUsage(t *testing.T) {
	const info = "# Stats\r\ntotal_connections_received:7\r\ntotal_commands_processed:%c00\r\ntotal_reads_processed:%c0\r\n" +
		"# CPU\r\nused_cpu_sys:%c.25\r\nused_cpu_user:%c.500\r\nused_cpu_sys_main_thread:9\r\n# Keyspace\r\ndb0:keys=6,expires=1\r\n"
	at := time.Unix(0, 0)
	before := readUsage(strings.ReplaceAll(info, "%c", "1"), at)
	if want := (usage{at, 10, 100, 2750 * time.Millisecond}); before != want {
		t.Errorf("got %+v, want %+v", before, want)
	}
	after := readUsage(strings.ReplaceAll(info, "%c", "3"), at.Add(8*time.Second))
	if got, want := after.since(before), (load{2.5, 25, 0.5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

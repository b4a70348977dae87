package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// BenchmarkBeat is what a node asks of the server in a second: a heart beat alone, one
// with the rows of some breakers that had failures and a look at what others say of
// them, and the look at the log that comes each two seconds. Besides the time it
// reports commands and the processor time of the server, per beat.
func BenchmarkBeat(b *testing.B) {
	server := redistest.Start(b)
	const nodes = 50
	data := []byte(strings.Repeat("x", 150)) // what a row of evidence has
	rows := func(node string, seq uint64, breakers int) []fleet.Row {
		all := []fleet.Row{{Key: "node", Node: node, Start: 1, Seq: seq, Data: data}}
		for i := range breakers {
			all = append(all, fleet.Row{Key: "breaker/" + strconv.Itoa(i), Node: node, Start: 1, Seq: seq, Data: data})
		}
		return all
	}
	s := open(b, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	for i := range nodes {
		if err := s.Say(b.Context(), rows(strconv.Itoa(i), 1, 100), time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	for _, breakers := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("breakers=%d", breakers), func(b *testing.B) {
			// No Watch runs, so all that the server does is counted here.
			commands, busy := used(b, server)
			seq := uint64(1)
			for b.Loop() {
				seq++
				if err := s.Say(b.Context(), rows(strconv.Itoa(int(seq%nodes)), seq, breakers), time.Hour); err != nil {
					b.Fatal(err)
				}
				for i := range min(breakers, 1) {
					if _, err := s.Said(b.Context(), "breaker/"+strconv.Itoa(i)); err != nil {
						b.Fatal(err)
					}
				}
			}
			moreCommands, moreBusy := used(b, server)
			b.ReportMetric((moreCommands-commands)/float64(b.N), "commands/op")
			b.ReportMetric((moreBusy-busy)/float64(b.N)*1e6, "server-µs/op")
		})
	}
}

// used returns how many commands clients have sent, and for how many seconds the server was busy.
func used(b *testing.B, server *redistest.Server) (commands, seconds float64) {
	b.Helper()
	for line := range strings.Lines(server.Do("info", "everything").(string)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_cpu_sys_main_thread", "used_cpu_user_main_thread":
			seconds += n
		case "cmdstat_evalsha", "cmdstat_eval", "cmdstat_hgetall":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, _ = strconv.ParseFloat(calls, 64)
			commands += n
		}
	}
	return commands, seconds
}

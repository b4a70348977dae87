package gateway

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a connection that takes everything, and notes its deadlines of writes.
type deadlines struct {
	net.Conn
	since time.Time
	all   []time.Duration // 0: none any more
}

func (d *deadlines) Write(p []byte) (int, error)     { return len(p), nil }
func (d *deadlines) SetReadDeadline(time.Time) error { return nil }

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	at := time.Duration(0)
	if !t.IsZero() {
		at = t.Sub(d.since)
	}
	d.all = append(d.all, at)
	return nil
}

// What is written has at least the time that there is for it, and the deadline of who
// knows better holds.
func TestImpatientConnectionSetsFewDeadlines(t *testing.T) {
	const ms = time.Millisecond
	set := func(at time.Duration) func(*impatient, time.Time) {
		return func(c *impatient, since time.Time) { _ = c.SetDeadline(since.Add(at)) }
	}
	unset := func(c *impatient, _ time.Time) { _ = c.SetWriteDeadline(time.Time{}) }
	write := func(c *impatient, _ time.Time) { _, _ = c.Write(make([]byte, 3*piece)) }
	for name, tt := range map[string]struct {
		at   []time.Duration
		do   []func(*impatient, time.Time)
		want []time.Duration
	}{
		"one serves many writes":      {[]time.Duration{0, 10 * ms, 25 * ms, 26 * ms}, []func(*impatient, time.Time){write, write, write, write}, []time.Duration{125 * ms, 151 * ms}},
		"after a pause":               {[]time.Duration{0, 500 * ms}, []func(*impatient, time.Time){write, write}, []time.Duration{125 * ms, 625 * ms}},
		"ours is not taken back":      {[]time.Duration{0, 1 * ms, 2 * ms}, []func(*impatient, time.Time){write, unset, write}, []time.Duration{125 * ms}},
		"another's is shorter":        {[]time.Duration{0, 1 * ms, 2 * ms, 11 * ms}, []func(*impatient, time.Time){write, set(10 * ms), write, write}, []time.Duration{125 * ms, 10 * ms, 136 * ms}},
		"another's is longer":         {[]time.Duration{0, 900 * ms}, []func(*impatient, time.Time){set(time.Second), write}, []time.Duration{1000 * ms}},
		"another's may be taken back": {[]time.Duration{0, 1 * ms, 2 * ms}, []func(*impatient, time.Time){set(time.Second), unset, write}, []time.Duration{1000 * ms, 0, 127 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				since := time.Now()
				d := &deadlines{since: since}
				c := &impatient{Conn: d, pause: 100 * ms}
				for i, do := range tt.do {
					<-time.After(time.Until(since.Add(tt.at[i])))
					do(c, since)
				}
				if !slices.Equal(d.all, tt.want) {
					t.Errorf("deadlines at %s, want %s", d.all, tt.want)
				}
			})
		})
	}
}

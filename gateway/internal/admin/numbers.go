package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/series"
)

// Numbers are what passes too fast to be told as something that happened. Those that
// are most often 0 or false are left out then: 500 dependencies are told of each 2 s.
type Numbers struct {
	Share     *float64 `json:"share" doc:"Of bad calls in the window; null while there are not enough calls"`
	Judged    uint64   `json:"judged" doc:"Calls in the window"`
	Run       int      `json:"run,omitzero" doc:"Bad calls in a row; absent: 0"`
	Trials    uint64   `json:"trials,omitzero" doc:"Good ones, of a dependency that is half-open; absent: 0"`
	AtRisk    bool     `json:"at_risk,omitzero" doc:"As at_risk of the dependency; absent: false"`
	SeenBy    string   `json:"seen_by,omitzero" doc:"As fleet.seen_by of the dependency; absent: empty"`
	NotShared bool     `json:"not_shared,omitzero" doc:"As fleet.not_shared of the dependency; absent: false"`
	Refused   uint64   `json:"refused,omitzero" doc:"Calls not let through since the start; absent: 0"`
	Rate      float64  `json:"rate" doc:"Calls per second that ended, over the last 10 s"`
	P95MS     float64  `json:"p95_ms" doc:"Of calls that ended, the highest of the last 10 s; 0 without any"`
	Last      [3]int   `json:"last" doc:"Calls in the last 2 s: good, bad, refused"`

	spared Spared
}

// Spared is what was not waited for, since the start.
type Spared struct {
	Calls  uint64 `json:"calls" doc:"Calls not let through"`
	WaitMS int64  `json:"wait_ms" doc:"About how long they would have waited: each for the slow limit"`
}

func sparedBy(s recloser.Stats) (all Spared) {
	for _, refused := range s.Refused {
		all.Calls += refused
	}
	all.WaitMS = int64(all.Calls) * s.SlowCall.Milliseconds()
	return all
}

func (s *Spared) add(more Spared) { s.Calls, s.WaitMS = s.Calls+more.Calls, s.WaitMS+more.WaitMS }

const (
	// pulseEvery is how often a stream carries numbers.
	pulseEvery = 2 * time.Second
	// pulseAfter is by how much they come later than a whole second, so that the
	// second that has just ended is in them.
	pulseAfter = 200 * time.Millisecond
)

// beatOf is when the latest numbers at a moment are of. All streams have the same
// beats: what they are told is made once for all.
func beatOf(now time.Time) time.Time {
	return now.Add(-pulseAfter).Truncate(pulseEvery).Add(pulseAfter)
}

// untilBeat is how long it is until the next one.
func untilBeat(now time.Time) time.Duration {
	return beatOf(now).Add(pulseEvery).Sub(now)
}

// frames makes the numbers of all dependencies, once for all streams however many
// there are. A stream is told what changed since its own last frame, which is
// written out once for all that are told the same.
type frames struct {
	mu     sync.Mutex
	beat   time.Time
	seq    uint64
	latest map[string]frame // by the dependency's ID
	told   map[reader]told
}

// frame is a dependency's part.
type frame struct {
	body    []byte // JSON: its ID, a colon, its numbers
	changed uint64 // the seq at which it became what it is
	spared  Spared
}

// reader is who is told the same: those who may see the same, and have seen the same.
type reader struct {
	group string
	last  uint64
}

// told is what a reader is told.
type told struct {
	numbers []byte // the whole event
	spared  Spared // by all that he sees
}

func newFrames() *frames { return &frames{latest: make(map[string]frame)} }

// numbersOf works out the numbers of a dependency.
func (a *api) numbersOf(ctx context.Context, d *dependency.Dependency, now time.Time) Numbers {
	s, cfg := d.Stats(), d.Breaker.Config()
	n := Numbers{
		Judged: s.Window.Judged(), Run: s.Window.Run, AtRisk: near(s, cfg), spared: sparedBy(s),
	}
	if f := a.sharedOf(d); f != nil {
		n.SeenBy, n.NotShared = f.SeenBy, f.NotShared
	}
	n.Refused = n.spared.Calls
	if s.Automatic == recloser.HalfOpen {
		n.Trials = s.Window.Good
	}
	if ratio, enough := s.BadRatio(); enough {
		n.Share = &ratio
	}
	if a.Series == nil {
		return n
	}
	const over = 10
	end := now.Truncate(time.Second)
	points, err := a.Series.Points(ctx, d.ID, end.Add(-over*time.Second), end, series.Fine)
	if err != nil {
		return n
	}
	var calls uint64
	for _, p := range points {
		calls += p.Good + p.Failed + p.Slow + p.Ignored
		n.P95MS = max(n.P95MS, millis(p.P95))
		if end.Sub(p.At) <= pulseEvery {
			n.Last[0] += int(p.Good)
			n.Last[1] += int(p.Failed + p.Slow)
			n.Last[2] += int(p.Refused)
		}
	}
	n.Rate = float64(calls) / over
	return n
}

// refresh makes a new frame if there was a beat since the last one. f.mu is held.
func (f *frames) refresh(now time.Time, all []*dependency.Dependency, of func(*dependency.Dependency) Numbers) {
	beat := beatOf(now)
	if f.seq > 0 && beat.Equal(f.beat) {
		return
	}
	f.seq++
	f.beat = beat
	f.told = make(map[reader]told)
	next := make(map[string]frame, len(all))
	for _, d := range all {
		n := of(d)
		id, err := json.Marshal(d.ID)
		numbers, errNumbers := json.Marshal(n)
		if err != nil || errNumbers != nil {
			continue // both always can be
		}
		body := append(append(id, ':'), numbers...)
		was := f.latest[d.ID]
		if !bytes.Equal(was.body, body) {
			was = frame{body: body, changed: f.seq, spared: n.spared}
		}
		next[d.ID] = was
	}
	f.latest = next
}

// tell returns what is to be told of these dependencies, which are what a reader sees:
// the numbers that changed, and the sum of what all spared. f.mu is held.
func (f *frames) tell(r reader, seen []*dependency.Dependency) told {
	if t, ok := f.told[r]; ok {
		return t
	}
	t := told{numbers: []byte("event: numbers\ndata: {")}
	first := true
	for _, d := range seen {
		part, ok := f.latest[d.ID]
		t.spared.add(part.spared)
		if !ok || part.changed <= r.last {
			continue
		}
		if !first {
			t.numbers = append(t.numbers, ',')
		}
		first = false
		t.numbers = append(t.numbers, part.body...)
	}
	t.numbers = append(t.numbers, "}\n\n"...)
	f.told[r] = t
	return t
}

// tellNumbers writes the numbers that changed after the frame that the stream wrote
// last, and what all of the reader's dependencies spared. A reader that was too slow
// for some frames gets all that changed in them at once.
func (a *api) tellNumbers(ctx context.Context, s *streamWriter) {
	t, seq := a.changed(ctx, s.frame)
	s.frame = seq
	s.text(t.numbers)
	if t.spared != s.spared {
		s.message(0, "spared", t.spared)
		s.spared = t.spared
	}
}

func (a *api) changed(ctx context.Context, last uint64) (t told, seq uint64) {
	f := a.frames
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.refresh(now, a.Dependencies.All(), func(d *dependency.Dependency) Numbers { return a.numbersOf(context.WithoutCancel(ctx), d, now) })
	return f.tell(reader{auth.From(ctx).Group, last}, a.seen(ctx)), f.seq
}

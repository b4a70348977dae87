package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/series"
)

// Numbers are what passes too fast to be told as something that happened.
type Numbers struct {
	Share   *float64 `json:"share" doc:"Of bad calls in the window; null while there are not enough calls"`
	Judged  uint64   `json:"judged" doc:"Calls in the window"`
	Run     int      `json:"run" doc:"Bad calls in a row"`
	Trials  uint64   `json:"trials" doc:"Good ones, of a dependency that is half-open"`
	AtRisk  bool     `json:"at_risk" doc:"As at_risk of the dependency"`
	Refused uint64   `json:"refused" doc:"Calls not let through since the start"`
	Rate    float64  `json:"rate" doc:"Calls per second that ended, over the last 10 s"`
	P95MS   float64  `json:"p95_ms" doc:"Of calls that ended, the highest of the last 10 s; 0 without any"`
	Last    [3]int   `json:"last" doc:"Calls in the last 2 s: good, bad, refused"`

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

// pulseEvery is how often a stream carries numbers.
const pulseEvery = 2 * time.Second

// frames makes the numbers of all dependencies, once for all streams however many
// there are. Each stream writes what changed since its own last frame.
type frames struct {
	mu     sync.Mutex
	made   time.Time
	seq    uint64
	latest map[string]frame // by the dependency's ID
}

type frame struct {
	body    []byte // JSON
	changed uint64 // the seq at which it became what it is
	spared  Spared
}

func newFrames() *frames { return &frames{latest: make(map[string]frame)} }

// numbersOf works out the numbers of a dependency.
func (a *api) numbersOf(ctx context.Context, d *dependency.Dependency, now time.Time) Numbers {
	s, cfg := d.Stats(), d.Breaker.Config()
	n := Numbers{
		Judged: s.Window.Judged(), Run: s.Window.Run, Trials: s.Window.Good, AtRisk: near(s, cfg), spared: sparedBy(s),
	}
	n.Refused = n.spared.Calls
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
	for _, p := range points {
		n.Rate += float64(p.Good+p.Failed+p.Slow+p.Ignored) / over
		n.P95MS = max(n.P95MS, millis(p.P95))
		if end.Sub(p.At) <= pulseEvery {
			n.Last[0] += int(p.Good)
			n.Last[1] += int(p.Failed + p.Slow)
			n.Last[2] += int(p.Refused)
		}
	}
	return n
}

// refresh makes a new frame if the last one is old, and returns its number.
func (f *frames) refresh(now time.Time, all []*dependency.Dependency, of func(*dependency.Dependency) Numbers) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if age := now.Sub(f.made); f.seq > 0 && age >= 0 && age < pulseEvery/2 {
		return f.seq
	}
	f.seq++
	f.made = now
	next := make(map[string]frame, len(all))
	for _, d := range all {
		n := of(d)
		body, err := json.Marshal(n)
		if err != nil {
			continue // numbers always can be
		}
		was := f.latest[d.ID]
		if !bytes.Equal(was.body, body) {
			was = frame{body: body, changed: f.seq, spared: n.spared}
		}
		next[d.ID] = was
	}
	f.latest = next
	return f.seq
}

// since returns the numbers of a dependency if they changed after that frame, and
// what it spared in any case.
func (f *frames) since(id string, seq uint64) (body json.RawMessage, spared Spared, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	got, ok := f.latest[id]
	return got.body, got.spared, ok && got.changed > seq
}

// tellNumbers writes the numbers that changed after the frame that the stream
// wrote last, and what all of the reader's dependencies spared.
func (a *api) tellNumbers(ctx context.Context, s *streamWriter) {
	now := time.Now()
	seq := a.frames.refresh(now, a.Dependencies.All(), func(d *dependency.Dependency) Numbers { return a.numbersOf(context.WithoutCancel(ctx), d, now) })
	changed := make(map[string]json.RawMessage)
	var all Spared
	for _, d := range a.seen(ctx) {
		body, spared, news := a.frames.since(d.ID, s.frame)
		if news {
			changed[d.ID] = body
		}
		all.add(spared)
	}
	s.frame = seq
	s.message(0, "numbers", changed)
	if all != s.spared {
		s.message(0, "spared", all)
		s.spared = all
	}
}

package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// All streams have the same beats, and what they are told is made once; one that was
// too slow for some gets all that changed in them.
func TestNumbersAreMadeOnce(t *testing.T) {
	w := newWhole(t)
	all := w.options.Dependencies.All()
	f := newFrames()
	start := beatOf(time.Now())
	made := 0
	at := func(after time.Duration, run int) {
		f.refresh(start.Add(after), all, func(d *dependency.Dependency) Numbers {
			made++
			if d.ID != "hotel-1" {
				run = 0
			}
			return Numbers{Run: run}
		})
	}
	at(0, 0)
	at(pulseEvery-1, 1)
	if f.seq != 1 || made != len(all) {
		t.Errorf("%d frames of %d numbers in one beat", f.seq, made)
	}
	if whole := string(f.tell(reader{}, all).numbers); strings.Count(whole, `"judged":0`) != len(all) || strings.Contains(whole, "run") || !strings.HasPrefix(whole, "event: numbers\ndata: {\"hotel-1\":{") {
		t.Errorf("at first %q", whole)
	}
	at(pulseEvery, 2)
	news := f.tell(reader{last: 1}, all).numbers
	if again := f.tell(reader{last: 1}, all).numbers; &again[0] != &news[0] {
		t.Error("it was written out twice")
	}
	if strings.Count(string(news), "run") != 1 || !strings.Contains(string(news), `"run":2`) {
		t.Errorf("%q, want hotel-1 alone", news)
	}
	at(2*pulseEvery, 2)
	if none := string(f.tell(reader{last: 2}, all).numbers); none != "event: numbers\ndata: {}\n\n" {
		t.Errorf("nothing changed: %q", none)
	}
	if late := string(f.tell(reader{last: 1}, all).numbers); late != string(news) {
		t.Errorf("who missed one is told %q", late)
	}
	if other := string(f.tell(reader{last: 1, group: "coast"}, all[1:]).numbers); other != "event: numbers\ndata: {}\n\n" {
		t.Errorf("who may not see it is told %q", other)
	}
}

func TestBeats(t *testing.T) {
	for _, second := range []float64{0, 0.1, 0.2, 1.9, 2.1, 2.2, 3.7} {
		now := time.Date(2026, 11, 30, 12, 0, 0, int(second*1e9), time.UTC)
		beat, next := beatOf(now), now.Add(untilBeat(now))
		if beat.After(now) || now.Sub(beat) >= pulseEvery || next.Sub(beat) != pulseEvery || beat.Nanosecond() != int(pulseAfter) {
			t.Errorf("at %s the beat is %s, the next %s", now, beat, next)
		}
	}
}

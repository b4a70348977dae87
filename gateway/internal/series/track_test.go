package series

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestKeysAreSummedUp(t *testing.T) {
	in(t, nil, func(b *bench) {
		d := definition("hotel-1")
		d.Key = &config.Key{Header: "X-Property", Max: 100}
		put, err := b.list.Put(d)
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		for _, key := range []string{"a", "b"} {
			if err := put.Keys.Get(key).Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		b.call("hotel-1", 0, nil)
		if err := put.Keys.Get("c").Isolate("ines", "x", time.Time{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		got := b.points("hotel-1", Fine)
		if last := got[len(got)-1]; last.Good != 3 || last.State != "isolated" {
			t.Errorf("%+v, want 3 good calls and the worst state", last)
		}
	})
}

func TestManyKeysAreLookedAtLessOften(t *testing.T) {
	in(t, nil, func(b *bench) {
		d := definition("hotel-1")
		d.Key = &config.Key{Header: "X-Property", Max: 2 * manyKeys}
		put, err := b.list.Put(d)
		if err != nil {
			t.Fatal(err)
		}
		for i := range manyKeys + 1 {
			put.Keys.Get(string(rune('a' + i)))
		}
		pass(61 * time.Second)
		if got := len(b.points("hotel-1", Fine)); got != 5 {
			t.Errorf("%d points in a minute, want one each 10 s", got)
		}
		if got := len(b.points("hotel-1", Coarse)); got < 5 {
			t.Errorf("%d coarse points", got)
		}
	})
}

func TestQuantile(t *testing.T) {
	bounds := []time.Duration{time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond}
	for _, tt := range []struct {
		counts []uint64
		share  float64
		want   time.Duration
	}{
		{[]uint64{0, 0, 0, 0}, 0.5, 0},
		{[]uint64{10, 0, 0, 0}, 0.5, 500 * time.Microsecond},
		{[]uint64{0, 10, 0, 0}, 0.5, 1500 * time.Microsecond},
		{[]uint64{50, 50, 0, 0}, 0.5, time.Millisecond},
		{[]uint64{90, 0, 10, 0}, 0.95, 3 * time.Millisecond},
		{[]uint64{0, 0, 0, 3}, 0.95, 4 * time.Millisecond},
	} {
		if got := (totals{latency: tt.counts, bounds: bounds}).quantile(tt.share); got != tt.want {
			t.Errorf("%v at %v: %s, want %s", tt.counts, tt.share, got, tt.want)
		}
	}
}

// Breakers of keys are dropped with their numbers: none is below zero then.
func TestNothingIsBelowZero(t *testing.T) {
	was := totals{good: 10, failed: 3, latency: []uint64{5, 5}}
	now := totals{good: 4, failed: 5, latency: []uint64{2, 6}}
	d := was.until(now)
	if d.good != 0 || d.failed != 2 || !slices.Equal(d.latency, []uint64{0, 1}) {
		t.Errorf("%+v", d)
	}
}

func TestStep(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		time.Minute: Fine, 15 * time.Minute: Fine, time.Hour: Coarse, 2 * time.Hour: Coarse,
		12 * time.Hour: time.Minute, 30 * 24 * time.Hour: 10 * time.Minute,
	} {
		if got := Step(length); got != want {
			t.Errorf("%s: %s, want %s", length, got, want)
		}
	}
}

// What a plan has cut off is not shown as cut off by hand.
func TestMaintenanceIsAStateOfItsOwn(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		d, _ := b.list.Get("hotel-1")
		for by, want := range map[string]string{"maintenance new database": "maintenance", "ines": "isolated"} {
			if err := d.Operator().Isolate(by, "new database", time.Time{}); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			if all := b.points("hotel-1", Fine); all[len(all)-1].State != want {
				t.Errorf("by %s: %s, want %s", by, all[len(all)-1].State, want)
			}
		}
	})
}

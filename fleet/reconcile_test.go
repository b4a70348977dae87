package fleet

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

var (
	epoch   = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	errDown = errors.New("down")
)

func TestReconcile(t *testing.T) {
	v := func(state recloser.State, number, id uint64) version {
		return version{Rev: Rev{number, id}, Record: Record{State: state}, made: epoch}
	}
	aged := func(held version, lasts, age time.Duration) version {
		held.Lasts, held.made = lasts, epoch.Add(-age)
		return held
	}
	const closed, open, half, isolated, held = recloser.Closed, recloser.Open, recloser.HalfOpen, recloser.Isolated, recloser.HeldClosed
	for name, c := range map[string]struct {
		held, got version
		want      course
	}{
		"the same":                               {v(open, 3, 1), v(open, 3, 1), keep},
		"nothing, of which nothing is known":     {version{}, version{}, keep},
		"the first record":                       {version{}, v(open, 1, 1), adopt},
		"a newer one that closes":                {v(open, 3, 1), v(closed, 4, 2), adopt},
		"a newer one that opens":                 {v(closed, 3, 1), v(open, 4, 2), adopt},
		"flushed while closed":                   {v(closed, 9, 1), version{}, adopt},
		"flushed while held closed":              {v(held, 9, 1), version{}, adopt},
		"flushed while open":                     {v(open, 9, 1), version{}, reopen},
		"flushed while half-open":                {v(half, 9, 1), version{}, reopen},
		"flushed while isolated":                 {v(isolated, 9, 1), version{}, reopen},
		"an older one that is closed":            {v(open, 9, 1), v(closed, 8, 2), reopen},
		"an older one that is held closed":       {v(half, 9, 1), v(held, 8, 2), reopen},
		"an older one that is open":              {v(half, 9, 1), v(open, 8, 2), adopt},
		"an older one, open while isolated":      {v(isolated, 9, 1), v(open, 8, 2), reopen},
		"the same epoch, another life, closed":   {v(open, 3, 1), v(closed, 3, 2), reopen},
		"the same epoch, another life, open":     {v(open, 3, 1), v(open, 3, 2), adopt},
		"an older one that opens what is closed": {v(closed, 9, 1), v(open, 8, 2), adopt},
		"flushed, its open time just over":       {aged(v(open, 9, 1), 10*time.Second, 11*time.Second), version{}, reopen},
		"flushed, its open time long over":       {aged(v(open, 9, 1), 10*time.Second, 20*time.Second), version{}, adopt},
		"flushed, isolated for three centuries":  {aged(v(isolated, 9, 1), math.MaxInt64, time.Minute), version{}, reopen},
	} {
		if got := reconcile(&c.held, &c.got, epoch); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// What is put against the store refuses calls, for as long as was left.
func TestReopened(t *testing.T) {
	at := func(state recloser.State, lasts, age time.Duration) version {
		return version{Record: Record{State: state, Lasts: lasts, Step: 2, By: "ann"}, made: epoch.Add(-age)}
	}
	for name, c := range map[string]struct {
		held  version
		state recloser.State
		lasts time.Duration
	}{
		"open":                    {at(recloser.Open, 20*time.Second, 5*time.Second), recloser.Open, 15 * time.Second},
		"open, over":              {at(recloser.Open, 20*time.Second, time.Minute), recloser.Open, time.Second},
		"half-open":               {at(recloser.HalfOpen, 0, time.Minute), recloser.Open, 2 * time.Second},
		"isolated":                {at(recloser.Isolated, 0, time.Minute), recloser.Isolated, 0},
		"isolated until just now": {at(recloser.Isolated, time.Hour, 2*time.Hour), recloser.Isolated, time.Millisecond},
		"isolated until later":    {at(recloser.Isolated, time.Hour, 10*time.Minute), recloser.Isolated, 50 * time.Minute},
	} {
		r := reopened(&c.held, 2*time.Second, epoch)
		if r.State != c.state || r.Lasts != c.lasts || r.Step != 2 || r.By != "ann" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestSteps(t *testing.T) {
	cfg := recloser.Config{OpenFor: 5 * time.Second, MaxOpenFor: 30 * time.Second}.WithDefaults()
	for step, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
		if got := openTime(&cfg, step); got != want {
			t.Errorf("step %d: %s, want %s", step, got, want)
		}
	}
	if got := openTime(&cfg, 1<<30); got != 30*time.Second {
		t.Errorf("a huge step: %s", got)
	}
	for _, c := range []struct{ first, longest time.Duration }{{time.Millisecond, time.Hour}, {time.Hour, time.Hour}, {59 * time.Minute, time.Hour}} {
		cfg := recloser.Config{OpenFor: c.first, MaxOpenFor: c.longest}
		for step := range 70 {
			if got := openTime(&cfg, step); got < c.first || got > c.longest || step > 22 && got != c.longest {
				t.Errorf("from %s, step %d: %s", c.first, step, got)
			}
		}
	}
	for step, want := range []int{1, 2, 3, 3} {
		if got := stepUp(&cfg, step); got != want {
			t.Errorf("after step %d: %d, want %d", step, got, want)
		}
	}
	for name, c := range map[string]struct {
		trip recloser.Reason
		step int
		age  time.Duration
		good uint64
		want int
	}{
		"the first":                   {"", 0, time.Second, 0, 0},
		"after little traffic":        {recloser.ReasonFleet, 1, time.Second, 19, 2},
		"after more":                  {recloser.ReasonFleet, 2, time.Second, 20, 1},
		"after more, from the lowest": {recloser.ReasonFleet, 0, time.Second, 20, 0},
		"after a minute":              {recloser.ReasonFleet, 3, time.Minute, 0, 0},
	} {
		held := version{Record: Record{Trip: c.trip, Step: c.step}, made: epoch.Add(-c.age)}
		if got := nextStep(&cfg, &held, c.good, epoch); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A record is read as it was written, and by the words that the docs give.
func TestRecordAsJSON(t *testing.T) {
	r := Record{
		State: recloser.HalfOpen, Lasts: time.Second, Step: 2, Reason: recloser.ReasonTime, Trip: recloser.ReasonFleet, Cause: "no answer", By: "ann", Note: "n",
		Need: 2, Settings: 7, Node: "node-1", Seen: 3, Nodes: 50,
	}
	data := encode(r)
	const want = `{"state":"half-open","lasts":1000000000,"step":2,"reason":"open time over","trip":"fleet","cause":"no answer","by":"ann","note":"n","need":2,"settings":7,"node":"node-1","seen":3,"nodes":50}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	d := Doc{Key: "breaker/hotel", Rev: Rev{4, 5}, Slots: 2, Data: append(data[:len(data)-1], `,"of a later version":{}}`...), Age: time.Minute}
	v, err := versionOf(&d, epoch)
	if err != nil || v.Record != r || v.Rev != d.Rev || v.slots != 2 || v.age(epoch) != time.Minute {
		t.Errorf("%+v, %v", v, err)
	}
	for _, wrong := range []string{"", "PNG", `{"state":"ajar"}`, `[]`} {
		if _, err := versionOf(&Doc{Key: "breaker/hotel", Rev: Rev{1, 1}, Data: []byte(wrong)}, epoch); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
	if v, err := versionOf(&Doc{}, epoch); err != nil || v != (version{}) {
		t.Errorf("no document: %+v, %v", v, err)
	}
}

package probe

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/eventually"
)

// open is what the breaker of a dependency says that was just cut off.
func open(d *dependency.Dependency) Seen {
	return Seen{d, recloser.Stats{
		State: recloser.Open, Automatic: recloser.Open,
		Began: recloser.Transition{Seq: 1, At: time.Now(), To: recloser.Open, Reason: recloser.ReasonRun},
	}}
}

// G10: Stop ends the probes on their way, waits for them, and takes them for no
// failure; afterwards none is sent.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, ended atomic.Int64
		p := New(Options{
			Send: func(ctx context.Context, _ *dependency.Dependency) Result {
				sent.Add(1)
				<-ctx.Done()
				<-time.After(time.Second)
				ended.Add(1)
				return Result{Verdict: Bad}
			},
			Record: func(e history.Event) { t.Errorf("told of %+v", e) },
		})
		d := at(t, "http://hotel-1.example", "/ping", time.Second)
		p.Tick(time.Now(), []Seen{open(d)})
		synctest.Wait()
		p.Stop()
		if sent.Load() != 1 || ended.Load() != 1 {
			t.Errorf("%d sent, %d ended", sent.Load(), ended.Load())
		}
		if v, ok := p.View("hotel-1"); !ok || v.Verdict != "" {
			t.Errorf("got %+v, %v", v, ok)
		}
		<-time.After(time.Minute)
		p.Tick(time.Now(), []Seen{open(d)})
		p.Stop()
		if sent.Load() != 1 {
			t.Errorf("%d sent after Stop", sent.Load()-1)
		}
	})
}

// What is no longer there is forgotten, and its probe ended; so is what is to be
// asked in another way.
func TestDependenciesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		p := New(Options{Send: func(ctx context.Context, _ *dependency.Dependency) Result {
			running.Add(1)
			<-ctx.Done()
			running.Add(-1)
			return Result{Verdict: Bad}
		}})
		defer p.Stop()
		tick := func(seen ...Seen) {
			p.Tick(time.Now(), seen)
			synctest.Wait()
		}
		d := at(t, "http://hotel-1.example", "/ping", time.Second)
		tick(open(d))
		if running.Load() != 1 {
			t.Errorf("%d run", running.Load())
		}
		reloaded := *d
		tick(open(&reloaded))
		if v, _ := p.View("hotel-1"); v.Sent != 1 || !v.Sending {
			t.Errorf("a reload that changes nothing: %+v", v)
		}
		again := at(t, "http://hotel-1.example", "/ping", time.Second)
		before := p.watches["hotel-1"]
		tick(open(again))
		if p.watches["hotel-1"] == before || running.Load() != 1 {
			t.Errorf("another breaker is the same to it, or %d probes run", running.Load())
		}
		moved := *again
		moved.Probe = &config.Probe{Path: "/health", Timeout: time.Second, Idle: time.Minute}
		tick(open(&moved))
		if v, _ := p.View("hotel-1"); v.Sent != 1 || v.Target != "http://hotel-1.example/health" || running.Load() != 1 {
			t.Errorf("another path: %+v, and %d run", v, running.Load())
		}
		tick()
		if _, ok := p.View("hotel-1"); ok || running.Load() != 0 {
			t.Errorf("it is still known, or %d run", running.Load())
		}
		none := *d
		none.Probe = nil
		tick(open(&none))
		if _, ok := p.View("hotel-1"); ok || running.Load() != 0 {
			t.Error("it is probed without a probe in its settings")
		}
		tick(open(d))
		tick(open(&none))
		if _, ok := p.View("hotel-1"); ok || running.Load() != 0 {
			t.Error("it is probed though its probe was taken out of its settings")
		}
	})
}

func TestWrongPathIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log gatewaytest.Log
		var events []history.Event
		p := New(Options{
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
			Record: func(e history.Event) { events = append(events, e) },
			Send: func(context.Context, *dependency.Dependency) Result {
				return Result{Verdict: WrongPath, Status: 404, Why: "status 404"}
			},
		})
		defer p.Stop()
		s := open(at(t, "http://hotel-1.example", "/ping", time.Second))
		for range 200 {
			p.Tick(time.Now(), []Seen{s})
			<-time.After(lookEvery)
		}
		if v, _ := p.View("hotel-1"); v.Sent < 5 || v.Verdict != WrongPath || v.Known {
			t.Errorf("view: %+v", v)
		}
		if n := strings.Count(log.String(), "probe path seems wrong"); n != 1 || !strings.Contains(log.String(), "/ping") {
			t.Errorf("said %d times: %s", n, log.String())
		}
		if len(events) != 1 || events[0].Reason != ReasonWrongPath || events[0].Kind != history.KindProbe || events[0].Dependency != "hotel-1" || events[0].At.IsZero() {
			t.Errorf("events: %+v", events)
		}
	})
}

// A dependency that is really there: it is probed when it is cut off, and trials
// begin soon after it is well.
func TestRealDependencyComesBack(t *testing.T) {
	other := gatewaytest.NewDependency(gatewaytest.Answer(500, ""))
	d := at(t, other.Listen(t), "/ping", time.Second)
	p := New(Options{})
	defer p.Stop()
	for d.Breaker.State() == recloser.Closed {
		permit, err := d.Breaker.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		permit.End(recloser.Failure)
	}
	tick := func() { p.Tick(time.Now(), []Seen{{d, d.Breaker.Stats()}}) }
	eventually.True(t, 10*time.Second, func() bool {
		tick()
		v, _ := p.View("hotel-1")
		return v.Verdict == Bad
	}, "a probe is bad")
	other.Now(gatewaytest.Answer(200, ""))
	eventually.True(t, 10*time.Second, func() bool {
		tick()
		return d.Breaker.State() == recloser.HalfOpen
	}, "trials begin")
}

func TestMuchAtOnce(t *testing.T) {
	const hotels, enough = 20, 20
	var running [hotels]atomic.Int64
	index := map[*dependency.Dependency]int{}
	var seen []Seen
	for i := range hotels {
		d := at(t, "http://hotel-1.example", "/ping", time.Second)
		d.ID = fmt.Sprintf("hotel-%d", i)
		index[d] = i
		seen = append(seen, open(d))
	}
	p := New(Options{Send: func(_ context.Context, d *dependency.Dependency) Result {
		i := index[d]
		defer running[i].Add(-1)
		if n := running[i].Add(1); n != 1 {
			t.Errorf("%d probes of %s at once", n, d.ID)
		}
		return Result{Verdict: []Verdict{Good, Bad, Neither}[rand.IntN(3)]}
	}})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for now := time.Now(); ; now = now.Add(time.Second) {
				p.Tick(now, seen)
				if v, _ := p.View("hotel-7"); v.Sent >= enough {
					return
				}
			}
		})
	}
	all.Wait()
	p.Stop()
}

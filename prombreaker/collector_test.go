package prombreaker_test

import (
	"context"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/prombreaker"
)

var update = flag.Bool("update", false, "write the golden files anew")

var errDown = errors.New("down")

func TestC55_BeforeTheFirstCall(t *testing.T) {
	c := collectorOf(newBreaker(t, recloser.Config{Name: "hotel-1"}))
	want := `
# HELP recloser_state 1 for the state the breaker is in, 0 for the others. closed: calls pass; open: cut off; half-open: on trial; isolated: cut off by hand; held-closed: passing by hand.
# TYPE recloser_state gauge
recloser_state{dependency="hotel-1",state="closed"} 1
recloser_state{dependency="hotel-1",state="half-open"} 0
recloser_state{dependency="hotel-1",state="held-closed"} 0
recloser_state{dependency="hotel-1",state="isolated"} 0
recloser_state{dependency="hotel-1",state="open"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "recloser_state"); err != nil {
		t.Error(err)
	}
	for name, series := range map[string]int{
		"recloser_calls_total":           4,
		"recloser_late_total":            1,
		"recloser_refused_total":         len(recloser.RefusalReasons()),
		"recloser_transitions_total":     len(recloser.TransitionKeys()),
		"recloser_call_seconds":          1,
		"recloser_inflight":              1,
		"recloser_suspects":              1,
		"recloser_overdue":               1,
		"recloser_bad_ratio":             0,
		"recloser_open_until_seconds":    0,
		"recloser_cut_off_since_seconds": 0,
		"recloser_shadow":                1,
	} {
		if got := testutil.CollectAndCount(c, name); got != series {
			t.Errorf("%s: %d series, want %d", name, got, series)
		}
	}
}

// The whole of a scrape with one breaker that has a past and one that has none.
func TestScrapeGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hotel := newBreaker(t, recloser.Config{
			Name: "hotel-1", MinCalls: 10, Consecutive: 4, SlowCall: 2 * time.Second,
			OpenFor: 5 * time.Second, Jitter: recloser.Off,
		})
		for range 6 {
			call(t, hotel, 100*time.Millisecond, nil)
		}
		call(t, hotel, 2500*time.Millisecond, nil)
		call(t, hotel, 2500*time.Millisecond, errDown)
		call(t, hotel, 0, context.Canceled)
		call(t, hotel, 100*time.Millisecond, nil)
		for range 4 {
			call(t, hotel, 30*time.Millisecond, errDown)
		}
		for range 3 {
			if err := hotel.Do(t.Context(), succeed); !errors.Is(err, recloser.ErrOpen) {
				t.Fatalf("the breaker is not open: %v", err)
			}
		}
		bank := newBreaker(t, recloser.Config{
			Name: "bank", FailureRate: recloser.Off, Consecutive: recloser.Off,
		})
		compareGolden(t, collectorOf(hotel, bank), "scrape.txt")
	})
}

func TestOpenUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{Name: "hotel-1"})
		c := collectorOf(b)
		if err := b.TripFor(time.Minute, "test", "look"); err != nil {
			t.Fatal(err)
		}
		got, want := testutil.ToFloat64(only{c, "recloser_open_until_seconds"}), float64(time.Now().Add(time.Minute).Unix())
		if got != want {
			t.Errorf("open until %v, want %v", got, want)
		}
		if err := b.Isolate("test", "look", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if n := testutil.CollectAndCount(c, "recloser_open_until_seconds"); n != 0 {
			t.Errorf("%d series while isolated, want none", n)
		}
	})
}

// An outage begins once, however many trials fail in it; what an operator puts back is none.
func TestCutOffSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{Name: "hotel-1", Consecutive: 1, Spread: recloser.Off, Shadow: true})
		c := collectorOf(b)
		began := time.Now()
		for range 3 {
			call(t, b, 0, errDown)
			<-time.After(time.Minute)
		}
		if got := testutil.ToFloat64(only{c, "recloser_cut_off_since_seconds"}); b.State() != recloser.HalfOpen || got != float64(began.UnixMilli())/1000 {
			t.Errorf("%s since %v, want half-open since %v", b.State(), got, began.Unix())
		}
		if got := testutil.ToFloat64(only{c, "recloser_shadow"}); got != 1 {
			t.Errorf("shadow: %v", got)
		}
		if err := b.Isolate("test", "look", time.Time{}); err != nil {
			t.Fatal(err)
		}
		b.Release("test", "")
		if n := testutil.CollectAndCount(c, "recloser_cut_off_since_seconds"); b.State() != recloser.HalfOpen || n != 0 {
			t.Errorf("put back: %s, %d series; want half-open and none", b.State(), n)
		}
	})
}

func TestInFlight(t *testing.T) {
	b := newBreaker(t, recloser.Config{Name: "hotel-1"})
	permit, err := b.Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inflight := only{collectorOf(b), "recloser_inflight"}
	if got := testutil.ToFloat64(inflight); got != 1 {
		t.Errorf("%v calls in flight, want 1", got)
	}
	permit.Done(nil)
	if got := testutil.ToFloat64(inflight); got != 0 {
		t.Errorf("%v calls in flight after the end, want 0", got)
	}
}

// A registry that checks everything takes it, and it follows the naming rules.
func TestPedanticAndLint(t *testing.T) {
	b := newBreaker(t, recloser.Config{Name: "hotel-1", SlowCall: time.Second})
	if err := b.TripFor(time.Minute, "test", "so that every metric is there"); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectorOf(b, newBreaker(t, recloser.Config{Name: "not UTF-8: \xff"})))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestTwoOfOneNameFailTheScrape(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectorOf(
		newBreaker(t, recloser.Config{Name: "hotel-1"}),
		newBreaker(t, recloser.Config{Name: "hotel-1"}),
	))
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "hotel-1") {
		t.Errorf("error %v, want one that names hotel-1", err)
	}
}

func TestForSetSeesBreakersThatComeLater(t *testing.T) {
	set, err := recloser.NewSet(recloser.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := prombreaker.ForSet(set)
	for n, key := range []string{"hotel-1", "hotel-2"} {
		set.Get(key)
		if got, want := testutil.CollectAndCount(c, "recloser_inflight"), n+1; got != want {
			t.Errorf("%d breakers, want %d", got, want)
		}
	}
}

func TestSuspectsAndOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, recloser.Config{Name: "hotel-1", SlowCall: 2 * time.Second})
		b.SetSuspect(300 * time.Millisecond)
		permit, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer permit.Done(nil)
		c := collectorOf(b)
		for _, want := range []struct {
			after             time.Duration
			suspects, overdue float64
		}{{100 * time.Millisecond, 0, 0}, {900 * time.Millisecond, 1, 0}, {2 * time.Second, 0, 1}} {
			<-time.After(want.after)
			b.Check()
			suspects, overdue := testutil.ToFloat64(only{c, "recloser_suspects"}), testutil.ToFloat64(only{c, "recloser_overdue"})
			if suspects != want.suspects || overdue != want.overdue {
				t.Errorf("%s later: %v suspects and %v overdue, want %v and %v", want.after, suspects, overdue, want.suspects, want.overdue)
			}
		}
	})
}

// limits is what a program refuses besides.
type limits struct{}

func (limits) Describe(chan<- *prometheus.Desc) {}
func (limits) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(prombreaker.Refused(), prometheus.CounterValue, 7, "hotel-1", "bulkhead")
}

func TestRefusalsOfAnotherCollectorHaveTheSameName(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectorOf(newBreaker(t, recloser.Config{Name: "hotel-1"})), limits{})
	n, err := testutil.GatherAndCount(registry, "recloser_refused_total")
	if want := len(recloser.RefusalReasons()) + 1; n != want || err != nil {
		t.Errorf("%d series and error %v, want %d", n, err, want)
	}
}

// only passes on one metric of a collector.
type only struct {
	prometheus.Collector
	name string
}

func (o only) Collect(out chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric)
	go func() {
		o.Collector.Collect(all)
		close(all)
	}()
	for m := range all {
		if strings.Contains(m.Desc().String(), `"`+o.name+`"`) {
			out <- m
		}
	}
}

func collectorOf(breakers ...*recloser.Breaker) *prombreaker.Collector {
	return prombreaker.New(slices.Values(breakers))
}

func newBreaker(t *testing.T, cfg recloser.Config) *recloser.Breaker {
	t.Helper()
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func succeed(context.Context) error { return nil }

// call makes a call that lasts d of the bubble's time and ends with end; one
// that ends with context.Canceled was given up by its caller.
func call(t *testing.T, b *recloser.Breaker, d time.Duration, end error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := b.Do(ctx, func(context.Context) error {
		<-time.After(d)
		if errors.Is(end, context.Canceled) {
			cancel()
		}
		return end
	})
	if !errors.Is(err, end) {
		t.Fatalf("the call ended with %v, want %v", err, end)
	}
}

func compareGolden(t *testing.T, c prometheus.Collector, name string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		scrape := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
		if err := os.WriteFile(file, scrape.Body.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.CollectAndCompare(c, want); err != nil {
		t.Error(err)
	}
}

package panel

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/eventually"
)

// An outage is as long as it is, whatever trials failed meanwhile; one that was over
// does not count.
func TestOutageLastsThroughTrials(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	fails := func() {
		t.Helper()
		h.breaker("hotel-1").TryNow("ines", "")
		h.calls("hotel-1", 1, errDown)
	}
	later := func() { // than what was before, in milliseconds
		t.Helper()
		was := time.Now()
		eventually.True(t, longest, func() bool { return time.Since(was) > 20*time.Millisecond }, "time to pass")
	}
	since := func() string {
		return h.breaker("hotel-1").Stats().Since.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
	}
	shown := func(what, want string) {
		t.Helper()
		eventually.True(t, longest, func() bool { return strings.Contains(h.get("/d/hotel-1", http.StatusOK), want) }, what+": the history to have it")
		for path, within := range map[string][]string{
			"/": {`<article class="card`, `<tr role="row" class="`}, "/wall": {`<article class="card`, `<a class="tile`}, "/d/hotel-1": {`<section class="head`},
		} {
			page := h.get(path, http.StatusOK)
			for _, part := range within {
				_, text, _ := strings.Cut(page, part)
				if found := regexp.MustCompile(`data-since="([^"]*)"`).FindStringSubmatch(text); found == nil || found[1] != want {
					t.Errorf("%s: %s, %s: since %v, want %s", what, path, part, found, want)
				}
			}
		}
	}
	h.trip("hotel-1")
	first := since()
	shown("tripped", first)
	later()
	fails()
	shown("a trial failed", first)
	later()
	h.breaker("hotel-1").TryNow("ines", "")
	shown("on trial", first)
	if page := h.get("/", http.StatusOK); !strings.Contains(page, "on trial, out for <time") {
		t.Error("on trial, it is not said that it is out")
	}
	h.calls("hotel-1", 2, nil)
	later()
	for h.breaker("hotel-1").State() == recloser.Closed { // in the slow start it takes fewer
		h.calls("hotel-1", 1, errDown)
	}
	second := since()
	later()
	fails()
	shown("tripped again", second)
	if err := h.breaker("hotel-1").Isolate("ines", "they move", time.Time{}); err != nil {
		t.Fatal(err)
	}
	h.breaker("hotel-1").Release("ines", "done")
	if page := h.get("/", http.StatusOK); !strings.Contains(page, "on trial for <time") {
		t.Error("put back, it is on trial; its rules have not cut it off")
	}
}

// The history says what failed, of a trial as of a trip.
func TestHistoryTellsTheFailure(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	h.trip("hotel-1")
	h.breaker("hotel-1").TryNow("ines", "")
	h.calls("hotel-1", 1, errors.New("answered 503"))
	eventually.True(t, longest, func() bool { return strings.Contains(h.get("/d/hotel-1", http.StatusOK), "trial failed: answered 503") }, "the history to have it")
	for _, path := range []string{"/d/hotel-1", "/timeline", "/"} {
		_, feed, _ := strings.Cut(h.get(path, http.StatusOK), `<ol class="feed">`)
		for _, want := range []string{"<bdi>trial failed: answered 503", "<bdi>5 bad calls in a row: dial tcp 10.3.0.8:443"} {
			if !strings.Contains(feed, want) {
				t.Errorf("%s does not say %q:\n%s", path, want, feed)
			}
		}
	}
}

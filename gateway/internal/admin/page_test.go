package admin

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.trip("hotel-1")
		if err := b.breaker("bank").HoldClosed("ines", "we know", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		w := b.send("GET", "/", "")
		body := w.Body.String()
		for _, text := range []string{
			"<title>1 of 3 dependencies is cut off – Recloser</title>",
			"<h1>1 of 3 dependencies is cut off</h1>",
			"1 passing by hand",
			`<b>Open</b> <span class="dim">cut off</span>`,
			`<b>Closed</b> <span class="dim">passing</span>`,
			`<b>Held closed</b> <span class="dim">passing by hand</span>`,
			"Harbour &lt;Suites&gt; &amp; Sons",
			"next trial in 4 s",
			"4 bad calls in a row; last failure: connection refused</td>",
			"automatic would be closed",
			"“we know” — ines",
			"not enough calls",
			"until 01:00:00 UTC",
			`id="hotel-1"`,
			`id="bank"`,
		} {
			if !strings.Contains(body, text) {
				t.Errorf("the page does not say %s", text)
			}
		}
		if t.Failed() {
			t.Log(body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("Content-Security-Policy %q", csp)
		}
		for _, forbidden := range []string{"trials in", "<script", " style=", "onclick", "http://", "https://"} {
			if strings.Contains(body, forbidden) {
				t.Errorf("the page has %s", forbidden)
			}
		}
	})
}

// A trial is a real call: without one nothing is tried, for however long.
func TestPageHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := b.breaker("hotel-1").Allow(t.Context()); err != nil { // a call that hangs since before the trip
			t.Fatal(err)
		}
		b.trip("hotel-1")
		<-time.After(time.Hour)
		says := func(good, next string) {
			t.Helper()
			body := b.send("GET", "/", "").Body.String()
			why := ">" + good + " of 2 trials good; last failure: connection refused<"
			if !strings.Contains(body, why) || !strings.Contains(body, `<span class="next">`+next+"</span>") {
				t.Errorf("the page does not say %q and %q:\n%s", why, next, body)
			}
		}
		says("0", "waits for the next call to try")
		permit, err := b.breaker("hotel-1").Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		says("0", "trying now")
		permit.Done(nil)
		says("1", "waits for the next call to try")
	})
}

// Messages link to a row by its dependency's ID, whatever else has that name.
func TestPageAnchorsAreUnique(t *testing.T) {
	var dependencies []config.Dependency
	for _, id := range []string{"closed", "open", "at-risk", "half-open", "isolated", "held-closed"} {
		dependencies = append(dependencies, config.Dependency{ID: id, Name: id})
	}
	b := newBenchOf(t, dependencies...)
	body := b.send("GET", "/", "").Body.String()
	seen := make(map[string]bool)
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if seen[id[1]] {
			t.Errorf("two elements have the id %s", id[1])
		}
		seen[id[1]] = true
	}
	for _, d := range dependencies {
		if !strings.Contains(body, `<tr role="row" class="closed" id="`+d.ID+`">`) {
			t.Errorf("no row has the id %s", d.ID)
		}
	}
	for _, use := range regexp.MustCompile(`<use href="#([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !seen[use[1]] {
			t.Errorf("a row shows the mark %s, which is not there", use[1])
		}
	}
}

// No row moves by itself: the order is the configuration's, whatever happens.
func TestPageOrderIsFixed(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-2")
	body := b.send("GET", "/", "").Body.String()
	at := -1
	for _, name := range []string{"Aurora Central", "Harbour", ">bank<"} {
		next := strings.Index(body, name)
		if next <= at {
			t.Errorf("%s is at %d, not behind %d", name, next, at)
		}
		at = next
	}
}

func TestPageCanBePaused(t *testing.T) {
	b := newBench(t)
	const refresh = `http-equiv="refresh"`
	if !strings.Contains(b.send("GET", "/", "").Body.String(), refresh) {
		t.Error("the page does not load itself again")
	}
	if paused := b.send("GET", "/?refresh=off", "").Body.String(); strings.Contains(paused, refresh) || !strings.Contains(paused, "Paused") {
		t.Error("the paused page loads itself again, or does not say that it is paused")
	}
}

func TestPageStyle(t *testing.T) {
	b := newBench(t)
	href := regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">`).FindStringSubmatch(b.send("GET", "/", "").Body.String())
	if href == nil {
		t.Fatal("no style sheet")
	}
	w := b.send("GET", href[1], "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/css; charset=utf-8" || w.Body.Len() == 0 {
		t.Errorf("%s: %d, %s, %d bytes", href[1], w.Code, w.Header().Get("Content-Type"), w.Body.Len())
	}
}

func TestPageAtRisk(t *testing.T) {
	b := newBench(t)
	b.calls("hotel-1", 2, errDown) // of 4 in a row: half of the limit
	if body := b.send("GET", "/", "").Body.String(); strings.Contains(body, "At risk") {
		t.Error("two of four bad calls in a row are called a risk")
	}
	b.calls("hotel-1", 1, errDown)
	if body := b.send("GET", "/", "").Body.String(); !strings.Contains(body, "<b>At risk</b>") || !strings.Contains(body, "1 at risk") {
		t.Error("three of four bad calls in a row are not called a risk")
	}
}

func TestHeadline(t *testing.T) {
	for _, tt := range []struct {
		keys, text, also string
	}{
		{"", "No dependencies are configured", ""},
		{"closed", "The dependency is passing calls", ""},
		{"closed closed", "All 2 dependencies are passing calls", ""},
		{"open closed", "1 of 2 dependencies is cut off", ""},
		{"open", "1 of 1 dependency is cut off", ""},
		{"open isolated closed", "2 of 3 dependencies are cut off", "1 of them by hand"},
		{"half-open closed", "1 of 2 dependencies is on trial", ""},
		{"open half-open at-risk held-closed", "1 of 4 dependencies is cut off", "1 on trial, 1 at risk, 1 passing by hand"},
		{"at-risk closed", "All 2 dependencies are passing calls", "1 at risk"},
	} {
		var rows []row
		for key := range strings.FieldsSeq(tt.keys) {
			rows = append(rows, row{Key: key})
		}
		if h := newHeadline(rows); h.Text != tt.text || h.Also != tt.also {
			t.Errorf("%s: %q, %q; want %q, %q", tt.keys, h.Text, h.Also, tt.text, tt.also)
		}
	}
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond:   "0 s",
		3700 * time.Millisecond:  "4 s",
		59600 * time.Millisecond: "1 min",
		50 * time.Hour:           "2 d 2 h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{90 * time.Second: "12:01:30 UTC", 13 * time.Hour: "01:00:00 UTC", 24 * time.Hour: "2026-03-02 12:00 UTC"} {
		if got := clock(noon.Add(after).Local(), noon); got != want {
			t.Errorf("clock of %v from noon = %q, want %q", after, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0 %", 0.001: "< 1 %", 0.01: "1 %", 0.444: "44 %", 0.999: "> 99 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}

// Text by others cannot reorder or hide what stands beside it.
func TestPageHasNoDirectionCharacters(t *testing.T) {
	const signs = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
	b := newBenchOf(t,
		config.Dependency{ID: "a", Name: "a" + signs + "name", Group: "a" + signs + "group", Settings: recloser.Config{Consecutive: 4}},
		config.Dependency{ID: "b", Name: "b"},
	)
	b.calls("a", 4, errors.New("an"+signs+"error"))
	if err := b.breaker("b").Isolate("in"+signs+"es", "why"+signs+"not", time.Time{}); err != nil {
		t.Fatal(err)
	}
	body := b.send("GET", "/", "").Body.String()
	if strings.ContainsAny(body, signs) {
		t.Errorf("the page has characters that change the direction:\n%q", body)
	}
	for _, want := range []string{"a name", "a group", "an error", "“why not” — in es"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

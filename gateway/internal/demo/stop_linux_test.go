package demo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// Who stops the demo in the middle of an outage keeps a page that shows the outage: what
// happens to guests who are sent away because it ends is none of it.
func TestPageStaysAsItWasWhenStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{
			Script: Script{time.Millisecond, time.Hour, time.Hour}, Paper: Paper{Out: &strings.Builder{}},
			Opened: func(_, page string) { opened <- page },
		})
		ended <- err
	}()
	var at string
	select {
	case at = <-opened:
	case err := <-ended:
		t.Fatal(err)
	}
	const many, some = 30, 10 // a few leave at any moment
	eventually.True(t, patience, func() bool {
		_, body := getFrom(t, at)
		return waitingWithout(t, body) >= many && !strings.Contains(hotelWithout(body, "hotel-5"), "answering")
	}, "people who wait, and a hotel that errs")
	resp, err := http.Get(at + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	frames, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	last := string(frames[strings.LastIndex(string(frames), "event: view"):])
	if !strings.Contains(last, "event: bye") {
		t.Fatalf("the stream does not end with a bye: %s", last)
	}
	if n := waitingWithout(t, last); n < some {
		t.Errorf("%d people wait without Recloser at last, want %d or more", n, some)
	}
	if row := hotelWithout(last, "hotel-5"); row == "" || strings.Contains(row, "answering") {
		t.Errorf("at last: %s", row)
	}
	if !strings.Contains(last, "The demo ends. With Recloser ") {
		t.Error("it does not say that it ends")
	}
}

// without is the part of the page about the way without Recloser.
func without(page string) string {
	_, part, _ := strings.Cut(page, `id="without"`)
	return part
}

func waitingWithout(t *testing.T, page string) int {
	t.Helper()
	found := regexp.MustCompile(`data-waiting>(\d+)<`).FindStringSubmatch(without(page))
	if found == nil {
		t.Fatalf("no number of waiting people: %s", page)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func hotelWithout(page, id string) string {
	_, row, _ := strings.Cut(without(page), "<b>"+id+"</b>")
	row, _, _ = strings.Cut(row, "</li>")
	return row
}

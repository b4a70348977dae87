package httpbreaker_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

func TestC13_StatusDecides(t *testing.T) {
	tests := []struct {
		name   string
		rt     base
		calls  int
		state  recloser.State
		failed uint64
	}{
		{"500 x 5", answers(500), 5, recloser.Open, 5},
		{"599 x 5", answers(599), 5, recloser.Open, 5},
		{"501 x 100", answers(501), 100, recloser.Closed, 0},
		{"505 x 100", answers(505), 100, recloser.Closed, 0},
		{"404 x 100", answers(404), 100, recloser.Closed, 0},
		{"200 x 100", answers(200), 100, recloser.Closed, 0},
		{"429 without Retry-After x 100", answers(429), 100, recloser.Closed, 0},
		{"503 without Retry-After x 4", answers(503), 4, recloser.Closed, 4},
		{"Retry-After of a 500 is not asked for", answers(500, "Retry-After", "30"), 4, recloser.Closed, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{Consecutive: 5})
			for range tt.calls {
				if _, err := get(t, through(b, tt.rt)); err != nil {
					t.Fatal(err)
				}
			}
			wantState(t, b, tt.state)
			if got := b.Stats().Failed; got != tt.failed {
				t.Errorf("%d failed, want %d", got, tt.failed)
			}
		})
	}
}

func TestC13_ToldToWait(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		name   string
		status int
		after  func() string
		calls  int
		left   time.Duration // 0: closed
	}{
		{"one 503", 503, func() string { return "30" }, 1, 30 * time.Second},
		{"one 429", 429, func() string { return "30" }, 1, 0},
		{"two 429", 429, func() string { return "30" }, 2, 30 * time.Second},
		{"date", 503, func() string { return date(30 * time.Second) }, 1, 30 * time.Second},
		{"date, 429", 429, func() string { return date(30 * time.Second) }, 2, 30 * time.Second},
		{"past date", 503, func() string { return date(-time.Hour) }, 1, 0},
		{"past date, 429", 429, func() string { return date(-time.Hour) }, 10, 0},
		{"zero", 503, func() string { return "0" }, 1, 0},
		{"no number", 503, func() string { return "soon" }, 1, 0},
		{"ten years", 503, func() string { return date(10 * 365 * 24 * time.Hour) }, 1, time.Minute},
		{"more seconds than fit", 503, func() string { return "99999999999999999999" }, 1, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, recloser.Config{Consecutive: 5})
				tr := through(b, answers(tt.status, "Retry-After", tt.after()))
				for range tt.calls {
					if status, err := get(t, tr); status != tt.status || err != nil {
						t.Fatalf("got %d, %v", status, err)
					}
				}
				_, err := get(t, tr)
				open := new(recloser.OpenError)
				if !errors.As(err, &open) {
					if tt.left == 0 {
						return
					}
					t.Fatalf("error %v, want a refusal", err)
				}
				if open.Reason != recloser.ReasonToldToWait || open.RetryAfter() != tt.left {
					t.Errorf("%s for %s, want %s for %s", open.Reason, open.RetryAfter(), recloser.ReasonToldToWait, tt.left)
				}
			})
		})
	}
}

func TestC16_BrokenBodyOpens(t *testing.T) {
	b := newBreaker(t, recloser.Config{Consecutive: 5})
	tr := through(b, func(req *http.Request) (*http.Response, error) {
		return response(req, 200, &brokenBody{err: io.ErrUnexpectedEOF, left: 1024}), nil
	})
	for range 5 {
		if _, err := get(t, tr); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("the reader got %v, want the body's own error", err)
		}
	}
	wantState(t, b, recloser.Open)
}

func TestC16_HookOnErrorsDoesNotExcuseStatus(t *testing.T) {
	b := newBreaker(t, recloser.Config{
		Consecutive: 5,
		Classify:    func(error) recloser.Outcome { return recloser.Success },
	})
	for range 5 {
		if _, err := get(t, through(b, answers(502))); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, b, recloser.Open)
}

func TestClassify(t *testing.T) {
	hook := func(o recloser.Outcome) func(*http.Response) recloser.Outcome {
		return func(*http.Response) recloser.Outcome { return o }
	}
	tests := []struct {
		name                     string
		hook                     func(*http.Response) recloser.Outcome
		rt                       base
		success, failed, ignored uint64
	}{
		{"500 is good", hook(recloser.Success), answers(500), 1, 0, 0},
		{"503 is good, its wait too", hook(recloser.Success), answers(503, "Retry-After", "9"), 1, 0, 0},
		{"404 is bad", hook(recloser.Failure), answers(404), 0, 1, 0},
		{"429 is bad", hook(recloser.Failure), answers(429), 0, 1, 0},
		{"404 says nothing", hook(recloser.Ignored), answers(404), 0, 0, 1},
		{"left to us: 500", hook(recloser.Default), answers(500), 0, 1, 0},
		{"left to us: 200", hook(recloser.Default), answers(200), 1, 0, 0},
		{"panics", func(*http.Response) recloser.Outcome { panic("hook") }, answers(500), 0, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			tr := through(b, tt.rt)
			tr.Classify = tt.hook
			if _, err := get(t, tr); err != nil {
				t.Fatal(err)
			}
			wantEnded(t, b, tt.success, tt.failed, tt.ignored)
			wantState(t, b, recloser.Closed)
		})
	}
}

func TestBadStatusIsTheCause(t *testing.T) {
	b := newBreaker(t, recloser.Config{Consecutive: 1})
	if _, err := get(t, through(b, answers(502))); err != nil {
		t.Fatal(err)
	}
	_, err := get(t, through(b, answers(502)))
	open := new(recloser.OpenError)
	if !errors.As(err, &open) || open.Cause == nil || open.Cause.Error() != "answered 502 Bad Gateway" {
		t.Fatalf("got %v", err)
	}
}

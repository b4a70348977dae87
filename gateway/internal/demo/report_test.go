package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

const ms = time.Millisecond

// scanned is a scan of hotel-3 that came and went at those times.
func scanned(start, end time.Duration, r result) visit {
	return visit{hotel: 3, start: start, end: end, result: r, letIn: r == answered}
}

func TestHotelReport(t *testing.T) {
	whole := outage{begun: true, ended: true, from: 10 * time.Second, until: 30 * time.Second}
	tests := []struct {
		name   string
		scans  []visit
		fault  Fault
		outage outage
		now    time.Duration
		want   Hotel
	}{
		{
			name: "no guests", fault: Hang, outage: whole, now: 45 * time.Second,
			want: Hotel{Fault: Hang},
		},
		{
			name: "every end counts once, and a refusal is no failure",
			scans: []visit{
				scanned(0, 30*ms, answered),
				scanned(10*time.Second, 11200*ms, refused), // released by the trip
				scanned(12*time.Second, 12001*ms, refused),
				scanned(13*time.Second, 13800*ms, failed),
			},
			fault: Hang, outage: whole, now: 45 * time.Second,
			want: Hotel{Fault: Hang, WaitedOver1s: 1, MaxWaitMS: 1200, FirstRefusalS: new(1.2), OK: 1, Failed: 1, Refused: 2},
		},
		{
			name: "a second is exactly not over a second", fault: Hang, outage: whole, now: 45 * time.Second,
			scans: []visit{scanned(0, time.Second, answered), scanned(0, time.Second+1, answered)},
			want:  Hotel{Fault: Hang, WaitedOver1s: 1, MaxWaitMS: 1000, OK: 2},
		},
		{
			name: "who still waits counts by the time until now, and by no end", fault: Hang, outage: whole, now: 40 * time.Second,
			scans: []visit{scanned(39500*ms, 0, waiting), scanned(20*time.Second, 0, waiting)},
			want:  Hotel{Fault: Hang, WaitedOver1s: 1, MaxWaitMS: 20000},
		},
		{
			name: "full again from the first whole second without trouble", fault: Slow, outage: whole, now: 34 * time.Second,
			scans: []visit{
				scanned(29500*ms, 30100*ms, failed), // told after the end
				scanned(31500*ms, 31501*ms, refused),
				scanned(31600*ms, 31630*ms, answered),
				scanned(32*time.Second, 32030*ms, answered),
				scanned(33999*ms, 33999*ms, refused),
			},
			want: Hotel{
				Fault: Slow, MaxWaitMS: 600, FirstRefusalS: new(21.501), FullAgainS: new(2.0),
				RefusedAfterRecovery: 2, OK: 2, Failed: 1, Refused: 2,
			},
		},
		{
			name: "a second in which nobody left does not count as full", fault: Slow, outage: whole, now: 33 * time.Second,
			scans: []visit{scanned(32*time.Second, 32030*ms, answered)},
			want:  Hotel{Fault: Slow, MaxWaitMS: 30, FullAgainS: new(2.0), OK: 1},
		},
		{
			name: "a second that is not over does not count either", fault: Slow, outage: whole, now: 30900 * ms,
			scans: []visit{scanned(30*time.Second, 30030*ms, answered)},
			want:  Hotel{Fault: Slow, MaxWaitMS: 30, OK: 1},
		},
		{
			name: "an outage that lasts has no recovery", fault: Errors, now: 45 * time.Second,
			outage: outage{begun: true, from: 10 * time.Second},
			scans:  []visit{scanned(11*time.Second, 11*time.Second, refused), scanned(31*time.Second, 31030*ms, answered)},
			want:   Hotel{Fault: Errors, MaxWaitMS: 30, FirstRefusalS: new(1.0), OK: 1, Refused: 1},
		},
		{
			name: "a refusal before the fault is not its first", fault: Errors, outage: whole, now: 30 * time.Second,
			scans: []visit{scanned(5*time.Second, 5*time.Second, refused), scanned(12*time.Second, 12*time.Second, refused)},
			want:  Hotel{Fault: Errors, FirstRefusalS: new(2.0), Refused: 2},
		},
		{
			name: "a well hotel has no times", outage: whole, now: 45 * time.Second,
			scans: []visit{scanned(11*time.Second, 11*time.Second, refused), scanned(31*time.Second, 31*time.Second, refused)},
			want:  Hotel{Refused: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := hotelReport(tt.scans, tt.fault, tt.outage, tt.now)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %s\nwant %s", asJSON(t, got), asJSON(t, tt.want))
			}
		})
	}
}

func TestLaneReportTellsScansFromAsks(t *testing.T) {
	book := []visit{
		scanned(0, 30*ms, answered),
		{hotel: 3, ask: true, start: 0, end: 2 * time.Second, result: yes, letIn: true},
		{hotel: 3, ask: true, start: 0, end: 30 * ms, result: unknown},
		{hotel: 0, ask: true, start: 0, end: 30 * ms, result: no},
		{hotel: 0, ask: true, start: 3 * time.Second, result: waiting},
	}
	got := laneReport(book, outage{}, 5*time.Second)
	if want := (Asks{Yes: 1, No: 1, Unknown: 1, WaitedOver1s: 2}); got.Asks != want {
		t.Errorf("asks: got %+v, want %+v", got.Asks, want)
	}
	if want := (Hotel{Fault: Hang, MaxWaitMS: 30, OK: 1}); got.Hotels["hotel-3"] != want {
		t.Errorf("hotel-3: got %+v, want %+v", got.Hotels["hotel-3"], want)
	}
	if len(got.Hotels) != hotelsPerLane {
		t.Errorf("got %d hotels, want %d", len(got.Hotels), hotelsPerLane)
	}
}

func TestNewTransition(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	got := newTransition(recloser.Transition{
		Name: "hotel-3", From: recloser.Closed, To: recloser.Open, At: start.Add(11234567 * time.Microsecond),
		Reason: recloser.ReasonRun, Counts: recloser.Counts{Good: 100, Slow: 5, Run: 5}, OpenFor: 2 * time.Second,
		Cause: errors.New("no answer"),
	}, clock{start})
	want := `{"at_s":11.235,"dependency":"hotel-3","from":"closed","to":"open","reason":"run",` +
		`"good":100,"failed":0,"slow":5,"run":5,"open_for_s":2,"cause":"no answer"}`
	if text := asJSON(t, got); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestReportJSON(t *testing.T) {
	var b bytes.Buffer
	r := Report{Lanes: Lanes{Protected: Lane{Hotels: map[string]Hotel{"hotel-3": {Fault: Hang, FirstRefusalS: new(1.1)}}}}}
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"protected": {`, `"unprotected": {`, `"hotel-3": {`, `"fault": "hang"`, `"calls_reached": 0`, `"waited_over_1s": 0`,
		`"max_wait_ms": 0`, `"first_refusal_s": 1.1`, `"full_again_s": null`, `"refused_after_recovery": 0`, `"ok": 0`,
		`"failed": 0`, `"refused": 0`, `"asks": {`, `"yes": 0`, `"no": 0`, `"unknown": 0`, `"transitions": []`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report has no %s:\n%s", want, b.String())
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

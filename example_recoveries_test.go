package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/recloser-go/recloser"
)

// How long a dependency was down can be read off the transitions: it was still
// down at the last trial that failed, and well at the trials that reclosed. What
// is between the marks is in docs/guides/choosing-open-times.md.
func Example_recoveries() {
	clock := recloser.NewManualClock(time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC))
	b, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 3, Jitter: recloser.Off, Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	told := make(chan struct{})
	wasDown := func(name string, atLeast, atMost time.Duration) {
		fmt.Printf("%s was down for %s to %s\n", name, atLeast, atMost)
		close(told)
	}

	// guide begins
	var tripped, lastBad time.Time
	b.Subscribe(func(t recloser.Transition) {
		switch {
		case t.From == recloser.Closed && t.To == recloser.Open:
			tripped, lastBad = t.At, t.At
		case t.Reason == recloser.ReasonTrialFailed:
			lastBad = t.At
		case t.Reason == recloser.ReasonTrialsGood:
			wasDown(t.Name, lastBad.Sub(tripped), t.At.Sub(tripped))
		}
	})
	// guide ends

	// Down for 40 s, and asked once a second.
	ends := clock.Now().Add(40 * time.Second)
	for s := b.Stats(); s.State != recloser.Closed || s.Seq == 0; s = b.Stats() {
		_ = b.Do(context.Background(), func(context.Context) error {
			if clock.Now().Before(ends) {
				return errors.New("connection refused")
			}
			return nil
		})
		clock.Advance(time.Second)
	}
	<-told // listeners are told on a goroutine of their own
	// Output:
	// hotel-3 was down for 35s to 1m6s
}

package recloser_test

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// state says what a breaker does with calls.
type state string

const (
	closed   state = "closed"    // calls pass
	open     state = "open"      // calls are refused until the open time is over
	halfOpen state = "half-open" // one call passes, as a trial
)

var errRefused = errors.New("refused: the hotel was not asked")

// breaker stands in front of one dependency.
type breaker struct {
	limit   int              // failures in a row that trip it
	openFor time.Duration    // how long it refuses calls then
	now     func() time.Time // the clock, so that a test need not wait

	mu       sync.Mutex // guards what follows
	state    state
	failures int       // in a row, while closed
	until    time.Time // while open: when that ends
	trial    bool      // while half-open: the trial is on its way
}

// do makes the call, or refuses it.
func (b *breaker) do(call func() error) error {
	if !b.admit() {
		return errRefused
	}
	err := call() // without the lock: a call may take long
	b.report(err)
	return err
}

// admit says whether a call may be made now.
func (b *breaker) admit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == open && !b.now().Before(b.until) {
		b.state = halfOpen
	}
	if b.state == halfOpen && !b.trial {
		b.trial = true
		return true
	}
	return b.state == closed
}

// report takes in how a call ended.
func (b *breaker) report(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
	if err == nil {
		b.state, b.failures = closed, 0
		return
	}
	b.failures++
	if b.state == halfOpen || b.failures >= b.limit {
		b.state, b.until = open, b.now().Add(b.openFor)
	}
}

// The hotel is down from second 2 to second 9, and asked once a second.
func Example_byHand() {
	clock := time.Now()
	b := &breaker{limit: 3, openFor: 4 * time.Second, state: closed, now: func() time.Time { return clock }}
	for second := range 14 {
		err := b.do(func() error {
			if second >= 2 && second < 9 {
				return errors.New("failed")
			}
			return nil
		})
		fmt.Println(second, b.state, err)
		clock = clock.Add(time.Second)
	}
	// Output:
	// 0 closed <nil>
	// 1 closed <nil>
	// 2 closed failed
	// 3 closed failed
	// 4 open failed
	// 5 open refused: the hotel was not asked
	// 6 open refused: the hotel was not asked
	// 7 open refused: the hotel was not asked
	// 8 open failed
	// 9 open refused: the hotel was not asked
	// 10 open refused: the hotel was not asked
	// 11 open refused: the hotel was not asked
	// 12 closed <nil>
	// 13 closed <nil>
}

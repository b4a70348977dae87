package recloser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recloser-go/recloser/internal/refusal"
)

// Outcome is how a call ended, as far as the dependency's health goes.
type Outcome uint8

// The outcomes. The zero value leaves the decision to the default rule.
const (
	Default Outcome = iota // nil is Success, the caller's own cancel is Ignored, anything else is Failure
	Success                // the dependency answered
	Failure                // the dependency failed
	Ignored                // says nothing about the dependency: not counted in any rate
)

// String returns "default", "success", "failure" or "ignored".
func (o Outcome) String() string {
	switch o {
	case Default:
		return "default"
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Ignored:
		return "ignored"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// ending is what is known of a call's end.
type ending struct {
	outcome Outcome // never Default
	err     error
	gaveUp  bool // the caller cancelled, or his own deadline passed
	unmade  bool // the call never reached the dependency
	wait    *WaitError
}

// ownDeadline is how long a call must have run for its caller's own deadline
// to be the dependency's failure, where no slow rule says it.
const ownDeadline = int64(time.Second)

// classify says what err means for the call c that ends at now.
func (b *Breaker) classify(ctx context.Context, c *call, now int64, err error) (e ending) {
	defer func() {
		if recover() != nil { // an error whose methods panic, such as a nil *net.OpError
			e = ending{outcome: Failure, err: errFailed}
		}
	}()
	if err == nil {
		return ending{outcome: Success}
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ending{outcome: Ignored, err: err, gaveUp: true}
	case b.deadlinePassed(ctx, err):
		limit := c.limit
		if limit == never {
			limit = ownDeadline
		}
		if now-c.clock >= limit && !c.sending {
			return ending{outcome: Failure, err: err}
		}
		return ending{outcome: Ignored, err: err, gaveUp: true}
	case errors.Is(err, context.Canceled), errors.Is(err, ErrOpen), errors.Is(err, refusal.Err):
		return ending{outcome: Ignored, err: err}
	}
	var wait *WaitError
	if errors.As(err, &wait) && wait != nil {
		if wait.Throttled {
			return ending{outcome: Ignored, err: err, wait: wait}
		}
		return ending{outcome: Failure, err: err, wait: wait}
	}
	return ending{outcome: b.ask(err), err: err}
}

// deadlinePassed reports whether the caller's own deadline has passed. A call
// may say so before the context's timer does.
func (b *Breaker) deadlinePassed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	d, ok := ctx.Deadline()
	if !ok || !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if clock := b.cfg().Clock; clock != nil && clock.manual {
		return clock.until(d) <= 0
	}
	return time.Until(d) <= 0
}

// ask asks Config.Classify.
func (b *Breaker) ask(err error) (o Outcome) {
	classify := b.cfg().Classify
	if classify == nil {
		return Failure
	}
	defer func() {
		if recover() != nil || o == Default || o > Ignored {
			o = Failure
		}
	}()
	return classify(err)
}

package scenario

import (
	"context"
	"runtime"
)

// inside is a call by Guard.Do, which takes a goroutine: it may panic, or not
// heed its context.
type inside struct {
	*running
	told chan struct{} // the dependency ends the attempt now
	with outcome       // so
}

// tell ends the attempt that runs.
func (i *inside) tell(o outcome) {
	if i.over {
		return
	}
	i.with = o
	select {
	case i.told <- struct{}{}:
	default:
	}
}

// run makes the call and returns when it is over.
func (i *inside) run() {
	result := "goexit"
	defer func() {
		if recover() != nil {
			result = "panic"
		}
		i.finish(result)
	}()
	err := i.r.guard.Do(i.ctx, i.serve, i.marks()...)
	result = resultOf(err, i.reached)
}

// serve is the dependency, for one attempt.
func (i *inside) serve(ctx context.Context) error {
	if !i.reached {
		i.reach()
	}
	o := i.next()
	if i.call.deaf {
		ctx = i.r.base
	}
	if !i.r.spend() {
		return errDown
	}
	if i.wait(ctx, o) {
		o = i.with
	} else if err := ctx.Err(); err != nil {
		return err
	}
	switch o.verdict {
	case cancels:
		i.cancel()
		return i.ctx.Err()
	case panics:
		panic(errDown)
	case exits:
		runtime.Goexit()
	case succeeds, fails, ignored, hangs, waits, throttled:
	}
	return o.err()
}

// wait waits until the dependency ends the attempt, and reports whether another
// line of the scenario says how.
func (i *inside) wait(ctx context.Context, o outcome) (told bool) {
	switch d := o.upload + o.took + o.body; {
	case o.verdict == hangs:
		return i.r.virtual.Wait(ctx, maxTime, i.told)
	case d > 0:
		return i.r.virtual.Wait(ctx, d, i.told)
	}
	// Those who come at the same moment are let in before the first one ends.
	turn := make(chan struct{}, 1)
	i.r.virtual.After(0, func() { turn <- struct{}{} })
	i.r.virtual.Wait(ctx, maxTime, turn)
	return false
}

package recloser

import (
	"context"
	"time"
)

// A Permit is one admitted call in the caller's hands, see Breaker.Allow. The
// zero value is valid and reports to nobody. It must not be copied. Its end is
// reported once, by Done, End or Cancel; anything reported after that changes
// nothing. The end may be reported by several goroutines at once; Sending, Sent
// and Answered must not be called together with each other or the end.
type Permit struct {
	b    *Breaker
	ctx  context.Context // the outcome depends on it
	call call
}

// Sending says that the dependency has begun to take a request body; until Sent
// the slow clock stands still, so a long upload is not slow. Calls without a
// body need neither.
func (p *Permit) Sending() {
	if p.b != nil && !p.call.ended.Load() && p.call.answered == 0 && !p.call.sending {
		p.b.sending(&p.call, p.b.now())
	}
}

// Sent says that the request body is sent: the slow clock starts.
func (p *Permit) Sent() {
	if p.b != nil && !p.call.ended.Load() && p.call.answered == 0 && p.call.sending {
		p.b.sent(&p.call, p.b.now())
	}
}

// Answered says that the dependency has begun to answer (HTTP: the response
// headers are there). The slow rule judges only the time until then, so what
// follows, a download or a stream, may take as long as it likes. Without it the
// end of the call is its answer.
func (p *Permit) Answered() {
	if p.b != nil && !p.call.ended.Load() && p.call.answered == 0 {
		p.b.answer(&p.call, p.b.now())
	}
}

// Done ends the call with the error that it gave, judged as Do judges it.
func (p *Permit) Done(err error) {
	if !p.end() {
		return
	}
	now := p.b.now()
	if err == nil {
		p.call.outcome = Success
		p.b.succeed(&p.call, now)
		return
	}
	e := p.b.classify(p.ctx, &p.call, now, err)
	p.call.outcome = e.outcome
	p.b.finish(&p.call, now, e)
}

// End ends the call with an outcome that the caller knows best. Default counts
// as Success.
func (p *Permit) End(o Outcome) {
	if !p.end() {
		return
	}
	if o == Default {
		o = Success
	}
	p.call.outcome = o
	p.b.finish(&p.call, p.b.now(), ending{outcome: o})
}

// Cancel takes the call back: it never reached the dependency. Nothing is
// counted, and a trial's slot is free again.
func (p *Permit) Cancel() {
	if p.end() {
		p.b.finish(&p.call, p.b.now(), ending{outcome: Ignored, unmade: true})
	}
}

// Outcome returns what the end of the call was taken for: never Default, once Done
// or End has been called. It is for who called that.
func (p *Permit) Outcome() Outcome { return p.call.outcome }

func (p *Permit) end() bool { return p.b != nil && p.call.ended.CompareAndSwap(false, true) }

// Trial reports whether the call is a trial.
func (p *Permit) Trial() bool { return p.call.kind == onTrial }

// Witness reports whether the call may run on without its caller, to show whether
// the suspicion was wrong that released him: see Breaker.SetSuspect. It is asked
// once Released is done, while the call runs and its request is wholly sent, and
// says yes for two calls of a trip at most, which are of the oldest. Such a call is
// to be cut off once it has run for SlowCall, and its end reported as ever. If it
// ends well, and was answered in time, while the breaker is still open from that
// very trip, trials begin (ReasonWitness).
func (p *Permit) Witness() bool {
	return p.b != nil && p.call.release != nil && !p.call.ended.Load() && p.b.witness(&p.call)
}

// SlowIn returns how long the call may still run unanswered before it is slow:
// 0 if it is, Off if the slow rule does not judge it.
func (p *Permit) SlowIn() time.Duration {
	if p.b == nil || p.call.limit == never {
		return Off
	}
	return time.Duration(max(0, p.call.clock+p.call.limit-p.b.now()))
}

// Age returns how long ago the call was admitted, by the breaker's clock: with a
// coarse Config.Clock a standstill of this process is not counted, so a timer that
// asks it cuts no call off for that. Off for the zero Permit.
func (p *Permit) Age() time.Duration {
	if p.b == nil {
		return Off
	}
	return time.Duration(p.b.now() - p.call.start)
}

// Released returns a context that is done when a trip releases the callers that
// wait for an answer, with the *OpenError for them as its cause. Without
// Config.CancelOnTrip that never comes: its Done channel is nil. Many calls share
// it, so derive none from it, use context.AfterFunc. Once the call is answered it
// means nothing.
func (p *Permit) Released() context.Context {
	if r := p.call.release; r != nil {
		return r
	}
	return context.Background()
}

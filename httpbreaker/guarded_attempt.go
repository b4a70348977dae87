package httpbreaker

import (
	"context"
	"net/http"
	"sync"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/safely"
)

// attempt hears how one attempt of a guarded request ended. Only of the last one
// the call is told.
type attempt struct {
	*guarded
	x exchange

	mu      sync.Mutex
	ended   bool
	outcome recloser.Outcome // Default: as err says
	err     error            // nil unless outcome is Default
	last    bool
	unwatch func() bool // ends the watch over the caller's context; nil: there is none
}

// Answered comes with the response headers: only commit knows what they mean.
func (a *attempt) Answered() {}

// Done says that it ended with err.
func (a *attempt) Done(err error) { a.end(recloser.Default, err) }

// End says that it ended so.
func (a *attempt) End(o recloser.Outcome) { a.end(o, nil) }

func (a *attempt) end(o recloser.Outcome, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.ended, a.outcome, a.err = true, o, err
	}
	if a.last {
		a.report()
	}
}

// commit makes this the last attempt. If there is a body to come, the call ends
// with it; the breaker hears of bad headers at once.
func (a *attempt) commit(body bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = true
	if body { // who is gone may have left it open: net/http gives its connection back then, and so do we the slot
		a.unwatch = context.AfterFunc(a.req.Context(), func() { _ = a.x.fail(a.req.Context().Err()) })
	}
	switch {
	case !body && !a.ended: // its caller was let go, and it still runs: see Detach
	case !body:
		a.report()
	case !a.ended:
		a.call.Answered()
	case a.outcome == recloser.Default:
		a.call.Permit().Done(a.err)
	}
}

// report ends the call.
func (a *attempt) report() {
	if a.outcome == recloser.Default {
		a.call.Done(a.err)
	} else {
		a.call.End(a.outcome)
	}
	if a.unwatch != nil {
		a.unwatch()
	}
	a.cancel(nil)
}

// worthRetrying reports whether another attempt might end better.
func (a *attempt) worthRetrying(resp *http.Response) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil || resp == nil {
		return a.err != nil
	}
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusTooManyRequests:
		wait, ok := safely.As[*recloser.WaitError](a.err)
		return ok && wait != nil && wait.After > 0
	}
	return false
}

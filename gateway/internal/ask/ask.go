// Package ask sends one request to every member of a group of dependencies and
// makes one answer of theirs.
//
// The answer goes out as soon as it is certain. Members that have not answered by
// then run on unseen until they can be judged: cutting them off at once would
// hide a hang for ever.
package ask

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/lastknown"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/gateway/internal/trace"
	"github.com/recloser-go/recloser/httpbreaker"
)

// maxBody is how much of a request's and of a member's body is held in memory.
const maxBody = 1 << 20

// Options are what an Asker is made from. All but Trace are required.
type Options struct {
	Dependencies *dependency.List
	Bulkhead     *bulkhead.Bulkhead   // of all calls of this process
	Limits       func() config.Limits // for handlers that are made from now on
	Limiters     *ratelimit.Limiters  // of routes
	Log          *slog.Logger
	Trace        *trace.Tracer // nil: calls are not traced
}

// Asker makes the handlers of ask routes. It is safe for concurrent use.
type Asker struct {
	Options
	transports dependency.Cache[*httpbreaker.Transport]
	answers    lastknown.Stores
}

// New returns an Asker of these dependencies.
func New(o Options) *Asker {
	a := &Asker{Options: o}
	a.transports = dependency.Cache[*httpbreaker.Transport]{List: o.Dependencies, Make: a.transport}
	return a
}

// Keep forgets the last known answers of routes that are not among these.
func (a *Asker) Keep(routes []config.Route) { a.answers.Keep(routes) }

// Handler asks as route says, and answers with a Result: 200 for yes and no, 503
// for unknown. A handler for a route that there was before has its last known
// answers.
func (a *Asker) Handler(route config.Route) http.Handler {
	limits, limit, store := a.Limits(), a.Limiters.Of(route), a.answers.Of(route)
	if limits.Body <= 0 || limits.Body > maxBody {
		limits.Body = maxBody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Trace.Route(r, route.Path)
		if !limit.Allow(w, r) {
			return
		}
		q, err := newQuestion(w, r, route, limits)
		if err != nil {
			problem.Close(w, r)
			problem.Write(w, unreadable(err, limits))
			return
		}
		result := a.ask(r.Context(), q, a.Dependencies.Group(route.Ask.Group))
		result.remember(store, r, q)
		result.write(w) // even if the client is gone: one that has only stopped sending still reads
	})
}

func unreadable(err error, limits config.Limits) problem.Problem {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem.Stalled(limits.BodyIdle)
	case errors.As(err, new(*http.MaxBytesError)):
		return problem.TooLong(limits.Body)
	}
	return problem.Problem{Status: http.StatusBadRequest, Detail: "the request's body could not be read to its end"}
}

// ask returns once the answer is certain, the time is up or the client is gone.
func (a *Asker) ask(client context.Context, q *question, deps []*dependency.Dependency) Result {
	// The calls outlive the client, and an end of ours must not look like his.
	ctx := context.WithoutCancel(client)
	replies := make(chan reply, len(deps)) // has room for all, so that nobody waits for a reader
	members := make([]Member, len(deps))
	calls := make([]*call, len(deps))
	start := time.Now()
	for i, dep := range deps {
		c, err := a.newCall(ctx, q, dep, i)
		if err != nil {
			a.Trace.Refused(ctx, dep, err)
			members[i] = silent(dep, err)
			continue
		}
		members[i], calls[i] = newMember(dep, Pending), c
		go c.run(q, replies)
	}

	timeout := time.NewTimer(q.rule.Timeout)
	defer timeout.Stop()
	need := needed(q.rule, len(members))
	left := Pending // what became of those that have not replied
	answer, certain := count(members).decide(need)
	for !certain {
		select {
		case r := <-replies:
			members[r.index], calls[r.index] = r.member, nil
			answer, certain = count(members).decide(need)
		case <-timeout.C:
			answer, certain, left = Unknown, true, TimedOut
		case <-client.Done():
			answer, certain = Unknown, true
		}
	}
	for i, c := range calls {
		if c != nil {
			members[i].Result = left
			members[i].LatencyMS = time.Since(start).Milliseconds()
			c.leave()
		}
	}
	return newResult(answer, members)
}

// readAll reads a request's body, which is bounded.
func readAll(w http.ResponseWriter, r *http.Request, limits config.Limits) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	return io.ReadAll(forwarded.Watch(w, r, limits.Body, limits.BodyIdle))
}

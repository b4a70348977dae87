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
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// maxBody is how much of a request's and of a member's body is held in memory.
const maxBody = 1 << 20

// Asker makes the handlers of ask routes. It is safe for concurrent use.
type Asker struct {
	deps *dependency.List
	log  *slog.Logger
}

// New returns an Asker of these dependencies.
func New(deps *dependency.List, log *slog.Logger) *Asker {
	return &Asker{deps: deps, log: log}
}

// Handler asks as route says, and answers with a Result: 200 for yes and no, 503
// for unknown.
func (a *Asker) Handler(route config.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := newQuestion(w, r, route)
		if err != nil {
			problem.Write(w, unreadable(err))
			return
		}
		result := a.ask(r.Context(), q, a.deps.Group(route.Ask.Group))
		result.write(w) // even if the client is gone: one that has only stopped sending still reads
	})
}

func unreadable(err error) problem.Problem {
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the request's body is longer than an ask holds: 1 MiB"}
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
		c, err := newCall(ctx, dep, i)
		if err != nil {
			members[i] = silent(dep, err)
			continue
		}
		members[i], calls[i] = newMember(dep, Pending), c
		go c.run(q, a.log, replies)
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

// readAll reads a request's body of at most maxBody bytes.
func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

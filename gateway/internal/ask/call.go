package ask

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/trace"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

const (
	slowIfOff  = time.Second     // what counts as slow where the slow rule is off
	mostUnseen = 3 * time.Second // a call runs on unseen for no longer, from its start
)

// call asks one member. It is begun by the ask and then runs on its own.
type call struct {
	dep       *dependency.Dependency
	guard     *guard.Guard
	transport *httpbreaker.Transport
	process   *bulkhead.Bulkhead
	log       *slog.Logger
	trace     *trace.Tracer
	index     int
	ctx       context.Context // of the request; done when the call is cut off
	cancel    context.CancelCauseFunc

	mu      sync.Mutex
	start   time.Time
	guarded *guard.Call // nil: it waits for a slot
	left    bool        // the ask is over
}

// reply is what a call tells the ask.
type reply struct {
	index  int
	member Member
}

// newCall asks the member's breaker. An error says that it is cut off. Only if the
// bulkhead is full there is something to wait for, which run does.
func (a *Asker) newCall(ctx context.Context, q *question, dep *dependency.Dependency, index int) (*call, error) {
	c := &call{
		dep: dep, guard: dep.GuardOf(q.request), transport: a.transports.Of(dep), process: a.Bulkhead,
		log: a.Log, trace: a.Trace, index: index, start: time.Now(),
	}
	var err error
	if c.guarded, err = c.guard.Allow(ctx); err != nil {
		return nil, err
	}
	if !dep.Bulkhead.TryEnter() {
		c.wait()
	} else if !c.process.TryEnter() {
		dep.Bulkhead.Leave()
		c.wait()
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c, nil
}

func (c *call) wait() {
	c.guarded.Cancel()
	c.guarded = nil
}

// run makes the call and sends one reply.
func (c *call) run(q *question, replies chan<- reply) {
	defer c.cancel(nil)
	m, err := c.ask(q)
	if err != nil {
		c.trace.Refused(c.ctx, c.dep, err)
		c.log.DebugContext(c.ctx, "member did not answer", "dependency", c.dep.ID, "error", err)
		m = silent(c.dep, err)
	}
	m.LatencyMS = time.Since(c.start).Milliseconds()
	replies <- reply{c.index, m}
}

func (c *call) ask(q *question) (Member, error) {
	if err := c.enter(); err != nil {
		return Member{}, err
	}
	defer c.dep.Bulkhead.Leave()
	defer c.process.Leave()
	req, err := q.to(c.ctx, c.dep.URL)
	if err != nil {
		c.guarded.Cancel()
		return Member{}, err
	}
	// The end of the permit is that of the call: the guard of a dependency has no
	// bulkhead, which would want to hear of it too. A call that was released may
	// run on as a witness, so nothing here ends it.
	resp, err := c.transport.Send(req, c.guarded.Permit())
	if err != nil {
		return Member{}, err
	}
	defer resp.Body.Close()
	c.dep.Learn(resp.StatusCode, time.Since(c.start))
	body, _ := io.ReadAll(resp.Body) // it is in memory
	return q.judge(c.dep, resp, body), nil
}

// transport sends the requests to a dependency.
func (a *Asker) transport(dep *dependency.Dependency) *httpbreaker.Transport {
	return &httpbreaker.Transport{
		Base:    wholeAnswers{a.Trace.Transport(dep, dep.Transport)},
		Timeout: min(dep.AttemptTimeout, dep.Timeout),
		Detach:  true, // a member that is released may run on as a witness
	}
}

// enter waits for a slot, if the call has none.
func (c *call) enter() error {
	if c.guarded != nil {
		return nil
	}
	if err := c.dep.Bulkhead.Enter(c.ctx); err != nil {
		return err
	}
	err := c.process.Enter(c.ctx)
	if err == nil {
		if err = c.begin(); err != nil {
			c.process.Leave()
		}
	}
	if err != nil {
		c.dep.Bulkhead.Leave()
	}
	return err
}

// begin asks the breaker again, after a wait.
func (c *call) begin() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return errNotNeeded
	}
	c.start = time.Now()
	c.guarded, err = c.guard.Allow(c.ctx)
	return err
}

// leave is called when the ask is over and the call still runs. It runs on until
// it has been judged, a trial until it has its verdict: else a hang that only asks
// see would never be noticed.
func (c *call) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if c.guarded == nil {
		c.cancel(errNotNeeded)
		return
	}
	if c.guarded.Permit().Trial() {
		return
	}
	c.cut()
}

// cut ends the call once it can be judged: as the member's failure if it is past its
// limit, else as one that says nothing. Its age is by the breaker's clock, as the
// time for which this process stood still is nobody's.
func (c *call) cut() {
	age, limit := c.guarded.Permit().Age(), c.limit()
	if rest := min(limit+limit/8, mostUnseen) - age; rest > 0 { // an eighth is the longest slice
		time.AfterFunc(rest, c.cut)
		return
	}
	if age >= limit {
		c.cancel(&httpbreaker.Cut{Err: errNoAnswer})
		return
	}
	c.cancel(&httpbreaker.Cut{Outcome: recloser.Ignored, Err: errNotNeeded})
}

// limit is how long the member may take before it is suspect to its breaker. What is
// usual is not learned for each key.
func (c *call) limit() time.Duration {
	b := c.guard.Breaker()
	slow := b.Config().SlowCall
	switch {
	case slow <= 0:
		return slowIfOff
	case b != c.dep.Breaker:
		return slow
	}
	if suspect := c.dep.Latency.Limit(slow, time.Now()).Value; suspect > 0 {
		return suspect
	}
	return slow
}

var (
	errNoAnswer  = errors.New("no answer in the time of the ask")
	errNotNeeded = errors.New("the ask needs no more answers")
)

// wholeAnswers makes the end of a body the moment of the answer: an ask cannot use half
// of one, so a body that hangs is a hang. One that is longer than maxBody is left out.
type wholeAnswers struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a wholeAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.base.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols { // nobody has asked for that: httpbreaker closes it
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	resp.Body = http.NoBody
	if len(body) <= maxBody {
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}

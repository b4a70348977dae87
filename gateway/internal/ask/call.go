package ask

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/httpbreaker"
)

const (
	slowIfOff  = time.Second     // what counts as slow where the slow rule is off
	mostUnseen = 3 * time.Second // a call runs on unseen for no longer, from its start
)

// call asks one member. It is begun by the ask and then runs on its own.
type call struct {
	dep    *dependency.Dependency
	index  int
	permit recloser.Permit
	start  time.Time
	ctx    context.Context // of the request; done when the call is cut off
	cancel context.CancelCauseFunc
}

// reply is what a call tells the ask.
type reply struct {
	index  int
	member Member
}

// newCall asks the member's breaker. An error says that it is cut off.
func newCall(ctx context.Context, dep *dependency.Dependency, index int) (*call, error) {
	c := &call{dep: dep, index: index, start: time.Now()}
	var err error
	if c.permit, err = dep.Breaker.Allow(ctx); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c, nil
}

// run makes the call and sends one reply.
func (c *call) run(q *question, log *slog.Logger, replies chan<- reply) {
	defer c.cancel(nil)
	m, err := c.ask(q)
	if err != nil {
		log.DebugContext(c.ctx, "member did not answer", "dependency", c.dep.ID, "error", err)
		m = silent(c.dep, err)
	}
	m.LatencyMS = time.Since(c.start).Milliseconds()
	replies <- reply{c.index, m}
}

func (c *call) ask(q *question) (Member, error) {
	req, err := q.to(c.ctx, c.dep.URL)
	if err != nil {
		c.permit.Cancel()
		return Member{}, err
	}
	answer := &wholeAnswer{base: c.dep.Transport}
	resp, err := (&httpbreaker.Transport{
		Base:    answer,
		Timeout: min(c.dep.AttemptTimeout, c.dep.Timeout),
	}).Send(req, &c.permit)
	if err != nil {
		return Member{}, err
	}
	_ = resp.Body.Close()
	return q.judge(c.dep, resp, answer.body), nil
}

// leave is called when the ask is over and the call still runs. It runs on until
// the slow rule has judged it, a trial until it has its verdict: else a hang that
// only asks see would never be noticed.
func (c *call) leave() {
	if c.permit.Trial() {
		return
	}
	unseen := min(c.limit()+c.limit()/8, mostUnseen) // an eighth is the longest slice of the slow rule
	if rest := unseen - time.Since(c.start); rest > 0 {
		time.AfterFunc(rest, c.cut)
		return
	}
	c.cut()
}

// cut ends the call: as the member's failure if it is past its limit, else as
// one that says nothing.
func (c *call) cut() {
	if time.Since(c.start) >= c.limit() {
		c.cancel(&httpbreaker.Cut{Err: errNoAnswer})
		return
	}
	c.cancel(&httpbreaker.Cut{Outcome: recloser.Ignored, Err: errNotNeeded})
}

// limit is how long the member may take before it is bad.
func (c *call) limit() time.Duration {
	if slow := c.dep.Breaker.Config().SlowCall; slow > 0 {
		return slow
	}
	return slowIfOff
}

var (
	errNoAnswer  = errors.New("no answer in the time of the ask")
	errNotNeeded = errors.New("the ask needs no more answers")
)

// wholeAnswer makes the end of the body the moment of the answer: an ask cannot
// use half of one, so a body that hangs is a hang.
type wholeAnswer struct {
	base http.RoundTripper
	body []byte // nil if it is longer than maxBody
}

func (a *wholeAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.base.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols { // nobody has asked for that: httpbreaker closes it
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) <= maxBody {
		a.body = body
	}
	resp.Body = http.NoBody
	return resp, nil
}

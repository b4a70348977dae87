package admin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// An act on a dependency goes through four steps, one act of the process at a time:
//
//  1. It is looked at: may the caller do that, has the dependency the version that
//     was asked for, does the act fit its state? Else nothing has happened.
//  2. It is written down, with what it changes, in one transaction that is on disk
//     before the next step. If that fails nothing has happened.
//  3. It is done to the breaker. All that could be in the way was looked at, so it
//     fails only if the breaker changed by itself between the first step and this one; then
//     what was written is put right, and the answer is 409.
//  4. It is acknowledged.
//
// So whatever was acknowledged outlives a kill at any moment, and one that was not
// may be done after the restart (if the kill came after 2) or not, but not by half.
//
// if_version is compared in step 1 and, under no lock but this one, in step 3: no
// other act comes between. The breaker itself may, for as long as the second
// comparison takes; an override replaces what the breaker thinks anyway, and the
// answer shows the dependency as it is after the act.

// act is something an operator does to a dependency.
type act struct {
	name      string // for audit and log
	in        string // where the request has by and reason: "body" or "query"
	id        string // of the dependency
	by        string // "" for whoever the caller is
	reason    string
	until     time.Time // zero: no end
	ifVersion *uint64   // nil: whatever version it has

	// keep returns what is to be written down, or why the act does not fit.
	keep func(d *dependency.Dependency, s recloser.Stats, w who) ([]history.Change, error)
	// do does it, and returns why it could not.
	do func(d *dependency.Dependency, w who) error
}

// who says who does something, and why.
type who struct {
	by, reason string
	caller     auth.Caller
	at         time.Time
}

// whoActs checks the words of an act. by is the name of the caller, and if the
// request has another one, both: whoever shares a token can say who he is, but
// nobody can pass for another token.
func whoActs(ctx context.Context, in, by, reason string) (who, error) {
	w := who{by: strings.TrimSpace(by), reason: strings.TrimSpace(reason), caller: auth.From(ctx), at: time.Now()}
	for field, text := range map[string]string{"by": w.by, "reason": w.reason} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return who{}, invalid(in+"."+field, "must be one line, without control characters", text)
		}
	}
	switch {
	case w.by == "":
		w.by = w.caller.Name
	case w.caller.Token != "" && w.by != w.caller.Name:
		w.by = fmt.Sprintf("%s (%s)", w.by, w.caller.Name)
	}
	return w, nil
}

// begin waits for the turn to act. Whoever got it calls end.
func (a *api) begin(ctx context.Context) (end func(), err error) {
	select {
	case a.Turn <- struct{}{}:
		return func() { <-a.Turn }, nil
	case <-ctx.Done():
		return nil, huma.Error503ServiceUnavailable("nothing was done: another act took too long")
	}
}

// takeTurn is whoActs and begin.
func (a *api) takeTurn(ctx context.Context, in, by, reason string) (w who, end func(), err error) {
	if w, err = whoActs(ctx, in, by, reason); err == nil {
		end, err = a.begin(ctx)
	}
	return w, end, err
}

// perform does an act and returns the dependency as it is then. It fails with 404
// for an unknown dependency, with 422 for a text that is not one line, with 409 if
// the dependency has another version, and with what keep and do return.
func (a *api) perform(ctx context.Context, act act) (*dependencyOutput, error) {
	w, end, err := a.takeTurn(ctx, act.in, act.by, act.reason)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := a.find(ctx, act.id) // it may have gone, or to another group, with the act before
	if err != nil {
		return nil, err
	}
	if err := a.sameVersion(d, act.ifVersion); err != nil {
		return nil, err
	}
	changes, err := act.keep(d, d.Breaker.Stats(), w)
	if err != nil {
		return nil, err
	}
	entry := a.entry(act.name, d.ID, w, act.until)
	if err := a.commit(ctx, entry, changes...); err != nil {
		return nil, err
	}
	err = a.sameVersion(d, act.ifVersion)
	if err == nil {
		err = act.do(d, w)
	}
	if err != nil {
		a.undo(ctx, entry, d)
		return nil, err
	}
	a.logAct(ctx, "dependency", entry)
	return &dependencyOutput{Body: a.view(d)}, nil
}

func (a *api) sameVersion(d *dependency.Dependency, want *uint64) error {
	if is := d.Breaker.Brief().Seq; want != nil && *want != is {
		return a.newConflict(d, fmt.Sprintf(
			"%s has changed meanwhile: it is at version %d, not %d; look again and decide anew", d.ID, is, *want))
	}
	return nil
}

// entry is an act's line of the audit.
func (a *api) entry(name, target string, w who, until time.Time) history.Act {
	return history.Act{
		At: w.at, Name: name, Target: target, By: w.by, Role: string(w.caller.Role), From: w.caller.From,
		Reason: w.reason, Until: until, Result: "done",
	}
}

// commit writes an act down before it is done.
func (a *api) commit(ctx context.Context, entry history.Act, changes ...history.Change) error {
	if a.History == nil {
		return nil
	}
	if once := onceOf(ctx); once != nil {
		entry.Key = once.key
		changes = append(changes, once.interrupted())
	}
	if err := a.History.Commit(ctx, entry, changes...); err != nil {
		a.Log.ErrorContext(ctx, "act not done: it could not be written down", "act", entry.Name, "target", entry.Target, "error", err)
		return huma.Error503ServiceUnavailable("nothing was done: the act could not be written down; the gateway's log says why")
	}
	return nil
}

// undo writes down that an act was not done after all, and the breaker as it is.
func (a *api) undo(ctx context.Context, entry history.Act, d *dependency.Dependency) {
	entry.Result = "not done: it had changed meanwhile"
	override := history.ClearOverride(d.ID)
	if o := d.Breaker.Brief().Override; o != nil {
		override = history.SetOverride(history.Override{
			Dependency: d.ID, State: o.State, By: o.By, Reason: o.Why, Since: o.Since, Until: o.Until,
		})
	}
	// Not given up with the client: a restart would do what was answered to have not been done.
	_ = a.commit(context.WithoutCancel(ctx), entry, override, history.SaveBreaker(d.ID, d.Breaker.Save()))
}

// logAct tells the log of an act on something of that kind.
func (a *api) logAct(ctx context.Context, kind string, e history.Act) {
	attrs := []slog.Attr{
		slog.String("act", e.Name), slog.String(kind, e.Target),
		slog.String("by", e.By), slog.String("reason", e.Reason), slog.String("from", e.From),
	}
	if !e.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", e.Until))
	}
	a.Log.LogAttrs(ctx, slog.LevelInfo, "operator's act", attrs...)
}

// record tells those who follow of an act that no breaker tells of.
func (a *api) record(id string, w who, text string) {
	if a.History != nil {
		a.History.Record(history.Event{At: w.at, Kind: history.KindAct, Dependency: id, By: w.by, Note: w.reason, Text: text})
	}
}

// ActRequest says who acts and why. All of it may be left out.
type ActRequest struct {
	Reason    string  `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By        string  `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
	IfVersion *uint64 `json:"if_version,omitempty" doc:"Act only if the dependency still has this version"`
}

type actInput struct {
	ID   string `path:"id" doc:"ID of the dependency"`
	Body *ActRequest
}

// act makes the act that the request asks for.
func (in *actInput) act(name string) act {
	req := cmp.Or(in.Body, &ActRequest{})
	return act{name: name, in: "body", id: in.ID, by: req.By, reason: req.Reason, ifVersion: req.IfVersion}
}

func (a *api) registerActs() {
	request := ActRequest{Reason: "they say it is mended", By: "ines"}
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "start-trial",
			Method:      http.MethodPost,
			Path:        "/api/v1/dependencies/{id}/trial",
			Summary:     "Try an open dependency now",
			Description: "The next call goes through as a trial; only trials that end well close the breaker. 409 if it is not open.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator, request: request, answer: exampleDependency(),
	}, a.startTrial)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "reset",
			Method:      http.MethodPost,
			Path:        "/api/v1/dependencies/{id}/reset",
			Summary:     "Close and forget",
			Description: "Closed, with an empty window and the first open time. An override stays.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator, request: request, answer: exampleDependency(),
	}, a.reset)
}

func (a *api) startTrial(ctx context.Context, in *actInput) (*dependencyOutput, error) {
	notOpen := func(d *dependency.Dependency) error {
		return a.newConflict(d, fmt.Sprintf("%s is not open but %s: there is nothing to try", d.ID, d.Breaker.State()))
	}
	act := in.act("trial")
	act.keep = func(d *dependency.Dependency, s recloser.Stats, w who) ([]history.Change, error) {
		if s.Automatic != recloser.Open {
			return nil, notOpen(d)
		}
		saved := d.Breaker.Save()
		saved.State, saved.Since, saved.Until = recloser.HalfOpen, w.at, time.Time{}
		saved.Seq++
		return []history.Change{history.SaveBreaker(d.ID, saved)}, nil
	}
	act.do = func(d *dependency.Dependency, w who) error {
		if !d.Operator().TryNow(w.by, w.reason) {
			return notOpen(d)
		}
		return nil
	}
	return a.perform(ctx, act)
}

func (a *api) reset(ctx context.Context, in *actInput) (*dependencyOutput, error) {
	act := in.act("reset")
	act.keep = func(d *dependency.Dependency, _ recloser.Stats, w who) ([]history.Change, error) {
		saved := d.Breaker.Save()
		saved.State, saved.Since, saved.Until = recloser.Closed, w.at, time.Time{}
		saved.Step, saved.Tripped, saved.Leases = 0, false, 0
		saved.Seq++
		return []history.Change{history.SaveBreaker(d.ID, saved)}, nil
	}
	act.do = func(d *dependency.Dependency, w who) error {
		d.Operator().Reset(w.by, w.reason)
		return nil
	}
	return a.perform(ctx, act)
}

package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

func newMember(dep *dependency.Dependency, o Outcome) Member {
	return Member{Dependency: dep.ID, Name: dep.Name, Result: o}
}

// silent is the part of a member that gave no response, and counts what its rate limit
// refused. What exactly went wrong
// is for the log, as it may name addresses that are no client's business.
func silent(dep *dependency.Dependency, err error) Member {
	m := newMember(dep, Failed)
	m.Reason = "could not be reached or broke off"
	var (
		open    *recloser.OpenError
		timeout net.Error
		short   *httpbreaker.ShortageError
		full    *bulkhead.FullError
		limited *guard.LimitError
	)
	switch {
	case errors.As(err, &full):
		m.Result, m.Reason = Refused, problem.Bulkhead
	case errors.As(err, &limited):
		dep.Limited.Add(1)
		m.Result, m.Reason = Refused, problem.TooOften
		m.RetryAfterMS = limited.RetryAfter().Milliseconds()
	case errors.As(err, &open):
		m.Result, m.Reason = Refused, string(open.Reason)
		if open.Reason == recloser.ReasonReleased {
			m.Result, m.Reason = Released, open.State.Effect()
		}
		m.RetryAfterMS = open.RetryAfter().Milliseconds()
	case errors.As(err, &short):
		m.Reason = "the gateway is short of sockets"
	case errors.As(err, &timeout) && timeout.Timeout():
		m.Result, m.Reason = TimedOut, ""
	}
	return m
}

// judge asks the rule's condition about a response. That a server failed or is
// too busy is no answer, whatever the condition might say.
func (q *question) judge(dep *dependency.Dependency, resp *http.Response, body []byte) Member {
	m := newMember(dep, Failed)
	m.Status = resp.StatusCode
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		m.Reason = strings.TrimSpace(fmt.Sprintf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
		return m
	}
	var decoded any
	if json.Unmarshal(body, &decoded) != nil {
		decoded = nil
	}
	first := make(map[string]string, len(resp.Header))
	for name, values := range resp.Header {
		first[name] = values[0]
	}
	said, err := expr.Run(q.rule.Condition, map[string]any{
		"status": resp.StatusCode, "body": decoded, "header": first, "dependency": dep.ID,
	})
	switch said {
	case true:
		m.Result = SaidYes
	case false:
		m.Result = SaidNo
	default:
		m.Reason = "the answer does not fit accept"
		if e, ok := errors.AsType[*file.Error](err); ok {
			m.Reason += ": " + e.Message
		}
	}
	return m
}

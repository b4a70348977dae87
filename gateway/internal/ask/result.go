package ask

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/lastknown"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// Result is the body of an answer.
type Result struct {
	Answer  Answer   `json:"answer"`
	By      []string `json:"by"`      // the dependencies that said yes, if the answer is yes
	Members []Member `json:"members"` // all that were to be asked, in the order of the config

	// LastKnown is there if the answer is an old one, as there is no new one now.
	LastKnown *LastKnown `json:"last_known,omitempty"`
}

// LastKnown says how old an answer is.
type LastKnown struct {
	Age int `json:"age_s"` // whole seconds
}

// Member is one dependency's part.
type Member struct {
	Dependency   string  `json:"dependency"`               // its ID
	Name         string  `json:"name"`                     // for people
	Result       Outcome `json:"result"`                   // what it said, or why it said nothing
	Status       int     `json:"status,omitempty"`         // of its response
	LatencyMS    int64   `json:"latency_ms"`               // until its answer, or as long as it was waited for
	Reason       string  `json:"reason,omitempty"`         // why there is no yes or no
	RetryAfterMS int64   `json:"retry_after_ms,omitempty"` // refused or released: until it may be asked again, if known
}

// Outcome is what came of asking one member.
type Outcome string

// The outcomes of a member. All but yes and no are no answer.
const (
	SaidYes  Outcome = "yes"
	SaidNo   Outcome = "no"
	Failed   Outcome = "failed"   // no answer, or one that is none
	Refused  Outcome = "refused"  // not asked: cut off, or out of limits
	TimedOut Outcome = "timeout"  // not answered in time
	Released Outcome = "released" // cut off while the ask waited for it
	Pending  Outcome = "pending"  // not answered when the answer was certain
)

func newResult(answer Answer, members []Member) Result {
	r := Result{Answer: answer, By: []string{}, Members: members}
	if answer == Yes {
		for _, m := range members {
			if m.Result == SaidYes {
				r.By = append(r.By, m.Dependency)
			}
		}
	}
	return r
}

func (r *Result) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	status := http.StatusOK
	if r.Answer == Unknown {
		status = http.StatusServiceUnavailable
		if wait := r.retryAfter(); wait > 0 {
			h.Set("Retry-After", strconv.Itoa(problem.Seconds(wait)))
		}
	}
	if r.LastKnown != nil {
		h.Set("Recloser-Last-Known", strconv.Itoa(r.LastKnown.Age))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(r) // a client that is gone needs no answer
}

// retryAfter returns how long it takes until asking again may give another
// answer, 0 if nobody knows. One that is refused for want of room has it any moment.
func (r *Result) retryAfter() time.Duration {
	var first int64
	for _, m := range r.Members {
		wait := m.RetryAfterMS
		if wait == 0 && m.Result == Refused && m.Reason != string(recloser.ReasonIsolated) {
			wait = 1 // it is rounded up to a second
		}
		if wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}
	return time.Duration(first) * time.Millisecond
}

// remember keeps the answer, or takes the last one if there is none now. That it
// is old is in the answer; who could not be asked, too.
func (r *Result) remember(store *lastknown.Store, client *http.Request, q *question) {
	if store == nil {
		return
	}
	key := store.Key(q.method, client, q.body)
	if r.Answer != Unknown {
		if said, err := json.Marshal(Result{Answer: r.Answer, By: r.By}); err == nil {
			store.Put(key, client, lastknown.Answer{Body: said})
		}
		return
	}
	old, age, ok := store.Get(key, client)
	var said Result
	if ok && json.Unmarshal(old.Body, &said) == nil {
		r.Answer, r.By, r.LastKnown = said.Answer, said.By, &LastKnown{Age: int(age / time.Second)}
	}
}

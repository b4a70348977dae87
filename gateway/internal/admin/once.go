package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	longestKey     = 255
	longestBody    = 1 << 20
)

// once has an act with an Idempotency-Key done one time only: the same request
// with the same key is answered as before.
//
// With the act, in its transaction, goes the note that the key was used; the
// answer is kept once there is one. If the process is killed between the two, the
// act is done and its answer lost: whoever asks again is told so. What
// was refused before that changed nothing, and may be tried again.
func (a *api) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if key == "" || r.Method == http.MethodGet || r.Method == http.MethodHead || a.History == nil {
			next.ServeHTTP(w, r)
			return
		}
		if len(key) > longestKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			writeProblem(w, http.StatusUnprocessableEntity, fmt.Sprintf("%s must be at most %d characters of ASCII", keyHeader, longestKey))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody))
		if err != nil {
			writeProblem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes, or broke off", longestBody))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		o := newOnce(r, key, body)
		unlock, err := a.keys.lock(r.Context(), o.id)
		if err != nil {
			return // the client is gone
		}
		defer unlock()
		a.answerOnce(w, r, o, next)
	})
}

func (a *api) answerOnce(w http.ResponseWriter, r *http.Request, o *once, next http.Handler) {
	kept, found, err := a.History.Replay(r.Context(), o.id, o.request)
	switch {
	case errors.Is(err, history.ErrKeyReused):
		writeProblem(w, http.StatusUnprocessableEntity, fmt.Sprintf("the %s was used for another request; take a new one", keyHeader))
		return
	case err != nil:
		a.Log.ErrorContext(r.Context(), "act not done: it is not known whether it was done before", "error", err)
		writeProblem(w, http.StatusServiceUnavailable, "nothing was done: it cannot be found out whether it was done before; the gateway's log says why")
		return
	case found:
		replay(w, kept)
		return
	}
	answer := &recorder{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), onceKey{}, o)))
	if o.done {
		a.remember(r, o, answer)
	}
}

func (a *api) remember(r *http.Request, o *once, answer *recorder) {
	text, err := json.Marshal(keptAnswer{
		Status: answer.status, Kind: answer.Header().Get("Content-Type"), Body: withoutSecret(r, answer.body.Bytes()),
	})
	if err == nil {
		err = a.History.Remember(context.WithoutCancel(r.Context()), o.id, o.request, text)
	}
	if err != nil {
		a.Log.WarnContext(r.Context(), "the answer to an act is not kept: if it is asked for again, it is not given", "error", err)
	}
}

// withoutSecret takes out what is shown once only.
func withoutSecret(r *http.Request, body []byte) []byte {
	if r.URL.Path != tokensPath {
		return body
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	delete(fields, "secret")
	stripped, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return stripped
}

// once is a request that is to be done one time only.
type once struct {
	key     string // as the client named it
	id      string // that of this client
	request []byte // what is asked for
	done    bool   // it was written down
}

type onceKey struct{}

// onceOf returns the one of the request that is being answered; nil: it has no key.
func onceOf(ctx context.Context) *once {
	o, _ := ctx.Value(onceKey{}).(*once)
	return o
}

// newOnce keeps keys of different callers apart: else one could read what another
// was answered.
func newOnce(r *http.Request, key string, body []byte) *once {
	c := auth.From(r.Context())
	id := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.Token, c.Group, key))
	request := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", r.Method, r.URL.RequestURI(), body))
	return &once{key: key, id: fmt.Sprintf("%x", id), request: request[:]}
}

// interrupted is what is kept with an act until there is an answer to it.
func (o *once) interrupted() history.Change {
	o.done = true
	return history.Remembered(o.id, o.request, []byte(`{}`))
}

// keptAnswer is an answer as it is kept; the zero one if it was lost.
type keptAnswer struct {
	Status int    `json:"status,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Body   []byte `json:"body,omitempty"`
}

func replay(w http.ResponseWriter, text []byte) {
	var kept keptAnswer
	w.Header().Set(replayedHeader, "true")
	if err := json.Unmarshal(text, &kept); err != nil || kept.Status == 0 {
		writeProblem(w, http.StatusConflict, "this was done, but the gateway was stopped before it could answer: look at how things are now")
		return
	}
	if kept.Kind != "" {
		w.Header().Set("Content-Type", kept.Kind)
	}
	w.WriteHeader(kept.Status)
	_, _ = w.Write(kept.Body)
}

// recorder notes what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write notes the body.
func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// keyLocks has requests with the same key wait for each other. Its zero value is
// ready to use, and it holds only those that are locked.
type keyLocks struct {
	mu     sync.Mutex
	locked map[string]*keyLock
}

type keyLock struct {
	turn    chan struct{}
	holders int // and those who wait
}

func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	k := l.locked[key]
	if k == nil {
		if l.locked == nil {
			l.locked = make(map[string]*keyLock)
		}
		k = &keyLock{turn: make(chan struct{}, 1)}
		l.locked[key] = k
	}
	k.holders++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.holders--; k.holders == 0 {
			delete(l.locked, key)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

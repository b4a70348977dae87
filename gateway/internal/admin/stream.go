package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

const (
	mostStreams = 256              // at once; each costs a goroutine and a connection
	mostOfOne   = mostStreams / 2  // of one caller: who takes all he can leaves room for others
	heartbeat   = 15 * time.Second // of silence, after which proxies and clients think it dead
	writeFor    = 10 * time.Second // how long a reader may take to make room
	recheck     = time.Second      // a token that was revoked, or has expired, is read on no longer than this
)

type streamInput struct {
	LastEventID int64 `header:"Last-Event-ID" minimum:"0" doc:"Go on after the event of this ID, as a browser does by itself; default: with the next one that happens"`
	After       int64 `query:"after" minimum:"0" doc:"Likewise, for those who cannot set a header"`
	Numbers     bool  `query:"numbers" doc:"Also, every 2 s, one named numbers with those that changed"`
}

func (a *api) registerStream() {
	op := operation{
		Operation: huma.Operation{
			OperationID: "stream", Method: http.MethodGet, Path: "/api/v1/stream",
			Summary: "What happens, as it happens",
			Description: "Server-sent events. Each thing that happens is one whose event is its kind, whose id is its ID and whose data is as in /api/v1/events. " +
				"A stream begins with one named dependency for each dependency, as it is now, and one named ready. After something happened to a dependency comes another one named dependency, or one named removed; none of these has an id. " +
				"With numbers, there is also one named numbers every 2 s, which has no id: those of the dependencies of which any changed, by ID, the first time all; those that are 0 or false may be left out; it comes even if none did, so a reader can tell silence from peace. After it comes one named spared, the sum over all of them, if that changed. " +
				"Each 15 s there is a comment. A gateway that stops says bye. A reader that is too slow gets one named dropped and is cut off: it can go on with Last-Event-ID, and so can one whose connection broke.",
			Responses: map[string]*huma.Response{
				"200": {
					Description: "Events without end",
					Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
				},
			},
			Errors: []int{http.StatusUnprocessableEntity},
		},
		role:   auth.Viewer,
		answer: "id: 41\nevent: transition\ndata: {\"id\":41,\"kind\":\"transition\",\"dependency\":\"hotel-1\",\"from\":\"closed\",\"to\":\"open\",\"text\":\"…\"}\n\n",
	}
	register(a, op, func(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
		if a.History == nil {
			return nil, absent("history")
		}
		c := auth.From(ctx)
		caller := cmp.Or(c.Token, c.From)
		if n, ok := a.streams.begin(caller); !ok {
			return nil, huma.Error503ServiceUnavailable(fmt.Sprintf("%d streams run, and more are not possible; close some, or read /api/v1/events", n))
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			defer a.streams.end(caller)
			r, w := humago.Unwrap(ctx)
			a.stream(w, r, max(in.LastEventID, in.After), in.Numbers)
		}}, nil
	})
}

// streams counts those that run. Its zero value is ready to use.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by caller
}

// begin counts one more, which calls end, or returns how many are in the way.
func (s *streams) begin(caller string) (running int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= mostStreams:
		return s.all, false
	case s.of[caller] >= mostOfOne:
		return s.of[caller], false
	case s.of == nil:
		s.of = make(map[string]int)
	}
	s.all++
	s.of[caller]++
	return s.all, true
}

func (s *streams) end(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[caller]--; s.of[caller] == 0 {
		delete(s.of, caller)
	}
}

// stream writes until the client is gone, is too slow or is not welcome any more,
// or the gateway stops.
func (a *api) stream(w http.ResponseWriter, r *http.Request, after int64, numbers bool) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // of nginx
	s := &streamWriter{w: w, control: http.NewResponseController(w), known: make(map[string]bool)}
	backlog, live, stop := a.History.Follow(after)
	defer stop()

	ctx := r.Context()
	s.text([]byte("retry: 2000\n\n"))
	for _, d := range a.seen(ctx) {
		s.message(0, "dependency", a.view(d))
		s.known[d.ID] = true
	}
	s.message(0, "ready", struct {
		Dependencies int `json:"dependencies"`
	}{len(s.known)})
	for _, e := range backlog {
		if e.Dependency == "" && auth.From(ctx).Group == "" || s.known[e.Dependency] {
			s.message(e.ID, e.Kind, newEvent(e))
		}
	}
	s.flush()

	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	still := time.NewTicker(recheck)
	defer still.Stop()
	beats := time.NewTimer(untilBeat(time.Now()))
	defer beats.Stop()
	var pulse <-chan time.Time
	if numbers {
		pulse = beats.C
		a.tellNumbers(ctx, s)
		s.flush()
	}
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-a.Quit:
			s.message(0, "bye", dropped{"the gateway stops: go on with Last-Event-ID once it is back"})
			s.flush()
			return
		case <-still.C:
			if a.Auth.Still(r) != nil {
				s.message(0, "dropped", dropped{"the token does not hold any more: sign in anew"})
				s.flush()
				return
			}
			continue
		case <-beat.C:
			s.text([]byte(": heartbeat\n\n"))
		case <-pulse:
			a.tellNumbers(ctx, s)
			beats.Reset(untilBeat(time.Now()))
		case e, ok := <-live:
			if !ok {
				s.message(0, "dropped", dropped{"too slow, or the gateway stops: go on with Last-Event-ID"})
				s.flush()
				return
			}
			a.tell(ctx, s, e)
		}
		s.flush()
	}
}

// tell writes an event that is the reader's business, and what it is about as it
// is now.
func (a *api) tell(ctx context.Context, s *streamWriter, e history.Event) {
	id, group := e.Dependency, auth.From(ctx).Group
	seen := a.sees(ctx, id)
	if seen || group == "" {
		s.message(e.ID, e.Kind, newEvent(e))
	}
	switch {
	case seen:
		if d, err := a.find(ctx, id); err == nil {
			s.message(0, "dependency", a.view(d))
			s.known[id] = true
		}
	case s.known[id]: // it is gone, or in another group
		s.message(0, "removed", struct {
			ID string `json:"id"`
		}{id})
		delete(s.known, id)
	}
}

// dropped says why a stream ends.
type dropped struct {
	Detail string `json:"detail"`
}

// streamWriter writes server-sent events, until it cannot.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	known   map[string]bool // dependencies that the reader was told of
	frame   uint64          // the last of the numbers that was written
	spared  Spared          // as it was written last
	err     error
}

func (s *streamWriter) text(text []byte) {
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Now().Add(writeFor)) // where there is none, none is needed
		_, s.err = s.w.Write(text)
	}
}

// message writes one; with 0 it has no id, and is not come back to.
func (s *streamWriter) message(id int64, kind string, data any) {
	body, err := json.Marshal(data) // in one line
	if err != nil {
		s.err = err
		return
	}
	if id != 0 {
		s.text(fmt.Appendf(nil, "id: %d\n", id))
	}
	s.text(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, body))
}

func (s *streamWriter) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
}

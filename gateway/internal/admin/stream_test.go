package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/eventually"
)

const streamPath = "/api/v1/stream"

// message is one of a stream; a comment has no kind.
type message struct {
	id         int64
	kind, data string
}

// follower is a client of a stream, over a real connection.
type follower struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Scanner
	cancel func()
}

func (w *whole) follow(server *httptest.Server, change ...func(*http.Request)) *follower {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+streamPath, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("%d %s: %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &follower{t: w.t, resp: resp, lines: lines, cancel: cancel}
}

// next returns the next message, and false at the end.
func (f *follower) next() (m message, ok bool) {
	for f.lines.Scan() {
		name, value, _ := strings.Cut(f.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			m.id, _ = strconv.ParseInt(value, 10, 64)
		case "event":
			m.kind = value
		case "data":
			m.data = value
		case "":
			if m.kind != "" {
				return m, true
			}
		}
	}
	return m, false
}

// want skips to the next message of a kind and reads it.
func (f *follower) want(kind string, into any) message {
	f.t.Helper()
	for {
		m, ok := f.next()
		if !ok {
			f.t.Fatalf("the stream ended before a %s: %v", kind, f.lines.Err())
		}
		if m.kind != kind {
			continue
		}
		if err := json.Unmarshal([]byte(m.data), into); err != nil {
			f.t.Fatal(err)
		}
		return m
	}
}

// ready reads the beginning, and returns the IDs of the dependencies in it.
func (f *follower) ready() string {
	f.t.Helper()
	var ids []string
	for {
		m, ok := f.next()
		if !ok || m.id != 0 || m.kind != "dependency" && m.kind != "ready" {
			f.t.Fatalf("a stream that begins with %+v: %v", m, f.lines.Err())
		}
		if m.kind == "ready" {
			return strings.Join(ids, " ")
		}
		var d Dependency
		if err := json.Unmarshal([]byte(m.data), &d); err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
}

func (w *whole) serve() *httptest.Server {
	server := httptest.NewServer(w.handler)
	w.t.Cleanup(server.Close)
	return server
}

func TestStream(t *testing.T) {
	w := newWhole(t)
	f := w.follow(w.serve())
	if ids := f.ready(); ids != "hotel-1 hotel-2 hotel-3 bank" {
		t.Errorf("at first %s", ids)
	}
	w.trip("hotel-1")
	var e Event
	var d Dependency
	m := f.want(history.KindTransition, &e)
	if e.Dependency != "hotel-1" || e.To != "open" || m.id != e.ID || e.ID == 0 {
		t.Errorf("%+v with id %d", e, m.id)
	}
	if m := f.want("dependency", &d); d.ID != "hotel-1" || d.State != "open" || m.id != 0 {
		t.Errorf("%s is %s, id %d", d.ID, d.State, m.id)
	}
	w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, isolate)
	if f.want(history.KindTransition, &e); e.To != "isolated" {
		t.Errorf("%+v", e)
	}
	if f.want("dependency", &d); d.State != "isolated" || d.Override == nil {
		t.Errorf("%+v", d)
	}
}

// Whoever comes back with the last ID he has got misses nothing and gets nothing
// twice, over a restart of the gateway too.
func TestStreamIsResumed(t *testing.T) {
	w := newWhole(t)
	server := w.serve()
	f := w.follow(server)
	w.trip("hotel-1")
	var e Event
	last := f.want(history.KindTransition, &e).id
	f.cancel()
	w.trip("hotel-2")
	w.trip("hotel-3")
	for name, how := range map[string]func(*http.Request){
		"header": header("Last-Event-ID", fmt.Sprint(last)),
		"query":  func(r *http.Request) { r.URL.RawQuery = fmt.Sprintf("after=%d", last) },
	} {
		t.Run(name, func(t *testing.T) {
			f := w.follow(server, how)
			for _, id := range []string{"hotel-2", "hotel-3"} {
				if f.want(history.KindTransition, &e); e.Dependency != id {
					t.Errorf("%+v, want %s", e, id)
				}
			}
		})
	}
	if err := w.options.History.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := openWhole(t, w.path)
	f = again.follow(again.serve(), header("Last-Event-ID", fmt.Sprint(last)))
	if f.want(history.KindTransition, &e); e.Dependency != "hotel-2" {
		t.Errorf("after the restart: %+v, want hotel-2", e)
	}
	again.trip("bank")
	for e.Dependency != "bank" {
		f.want(history.KindTransition, &e)
	}
}

func TestStreamOfOneGroup(t *testing.T) {
	w := newWhole(t, signIn)
	f := w.follow(w.serve(), w.token("coast", auth.Viewer, "coast"))
	if ids := f.ready(); ids != "hotel-1 hotel-2" {
		t.Errorf("at first %s", ids)
	}
	w.options.History.Record(history.Event{Kind: history.KindTransition, Text: "the gateway"})
	w.trip("hotel-3")
	w.trip("hotel-1")
	var e Event
	if f.want(history.KindTransition, &e); e.Dependency != "hotel-1" {
		t.Errorf("%+v, want nothing but the group's", e)
	}
}

// One that comes is told of, and one that goes.
func TestStreamOfComingAndGoing(t *testing.T) {
	w := newWhole(t, signIn)
	root := w.token("root", auth.Admin, "")
	server := w.serve()
	for name, as := range map[string]func(*http.Request){"all": root, "coast": w.token("coast", auth.Viewer, "coast")} {
		f := w.follow(server, as)
		f.ready()
		w.want(http.StatusCreated, new(Dependency), "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","group":"coast"}}`, root)
		var d Dependency
		if f.want("dependency", &d); d.ID != "hotel-9" {
			t.Errorf("%s: %s came, want hotel-9", name, d.ID)
		}
		w.send("DELETE", dependenciesPath+"/hotel-9", "", root)
		if f.want("removed", &d); d.ID != "hotel-9" {
			t.Errorf("%s: %s went, want hotel-9", name, d.ID)
		}
		f.cancel()
	}
}

// A stream has an end when the gateway has: a server that shuts down waits for it.
func TestStreamEndsWithTheGateway(t *testing.T) {
	w := newWhole(t)
	f := w.follow(w.serve())
	f.ready()
	close(w.quit)
	var last message
	for {
		m, ok := f.next()
		if !ok {
			break
		}
		last = m
	}
	if last.kind != "bye" || last.id != 0 {
		t.Errorf("the last that it said is %+v, want bye", last)
	}
	if err := f.lines.Err(); err != nil {
		t.Errorf("it broke off: %v", err)
	}
}

// Streams are bounded, one that ended makes room, and nobody takes all of it.
func TestStreamsAreBounded(t *testing.T) {
	w := newWhole(t)
	a := w.api()
	for range mostOfOne {
		a.streams.begin("greedy")
		a.streams.begin("other")
	}
	mux := http.NewServeMux()
	a.register(mux)
	w.handler = a.Auth.Handler(mux)
	w.wantProblem(http.StatusServiceUnavailable, "more are not possible", "GET", streamPath, "")
	a.streams.end("greedy")
	a.streams.end("greedy")
	a.streams.begin("greedy")
	if n, ok := a.streams.begin("other"); ok || n != mostOfOne {
		t.Errorf("one caller has %d of %d streams, and one more", n, mostStreams)
	}
	server := w.serve()
	f := w.follow(server)
	f.ready()
	f.cancel()
	eventually.True(t, 10*time.Second, func() bool { _, ok := a.streams.begin("third"); return ok }, "the stream to have ended")
}

func TestBadStreams(t *testing.T) {
	w := newWhole(t)
	w.want(http.StatusUnprocessableEntity, new(failure), "GET", streamPath+"?after=x", "")
	w.want(http.StatusUnprocessableEntity, new(failure), "GET", streamPath, "", header("Last-Event-ID", "x"))
	w.want(http.StatusUnprocessableEntity, new(failure), "GET", streamPath+"?since=1", "")
}

// pipe is a client's end and a writer that writes to it, in a bubble's time.
type pipe struct {
	http.ResponseWriter
	conn net.Conn
}

func (p pipe) Write(b []byte) (int, error)         { return p.conn.Write(b) }
func (p pipe) Flush()                              {}
func (p pipe) SetWriteDeadline(at time.Time) error { return p.conn.SetWriteDeadline(at) }

// streamIn runs a stream in a bubble.
func streamIn(t *testing.T, f func(t *testing.T, w *whole, client net.Conn, ended <-chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := openWhole(t, "", signIn)
		secret, token := auth.Create("cms", auth.Viewer, "", time.Now().Add(62*time.Second))
		if err := w.options.History.Commit(t.Context(), history.Act{}, history.PutToken(token)); err != nil {
			t.Fatal(err)
		}
		client, server := net.Pipe()
		ended := make(chan struct{})
		r := httptest.NewRequestWithContext(t.Context(), "GET", streamPath, nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		w.options.Auth.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			go func() {
				defer close(ended)
				defer server.Close()
				w.api().stream(pipe{httptest.NewRecorder(), server}, r, 0, false)
			}()
		})).ServeHTTP(httptest.NewRecorder(), r)
		f(t, w, client, ended)
		client.Close()
		<-ended
		_ = w.options.History.Close(t.Context())
	})
}

func TestHeartbeat(t *testing.T) {
	streamIn(t, func(t *testing.T, _ *whole, client net.Conn, _ <-chan struct{}) {
		lines := bufio.NewScanner(client)
		began := time.Now()
		var beats []time.Duration
		for len(beats) < 3 && lines.Scan() {
			if strings.HasPrefix(lines.Text(), ":") {
				beats = append(beats, time.Since(began))
			}
		}
		if fmt.Sprint(beats) != "[15s 30s 45s]" {
			t.Errorf("comments after %v, want each 15 s", beats)
		}
	})
}

// A token that expires, or is revoked, ends the streams that it began.
func TestStreamEndsWithItsToken(t *testing.T) {
	streamIn(t, func(t *testing.T, _ *whole, client net.Conn, ended <-chan struct{}) {
		began := time.Now()
		text, _ := io.ReadAll(client)
		<-ended
		if after := time.Since(began); after != 62*time.Second || !strings.Contains(string(text), "event: dropped\ndata: {\"detail\":\"the token") {
			t.Errorf("ended after %s: %s", after, text)
		}
	})
}

// A reader that takes nothing is cut off, and costs nobody else anything.
func TestReaderThatTakesNothing(t *testing.T) {
	streamIn(t, func(t *testing.T, w *whole, _ net.Conn, ended <-chan struct{}) {
		began := time.Now()
		for range 1000 {
			w.options.History.Record(history.Event{Kind: history.KindGateway, Text: "x"})
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("recording waited %s for a reader", took)
		}
		<-ended
		if took := time.Since(began); took != writeFor {
			t.Errorf("cut off after %s, want %s", took, writeFor)
		}
	})
}

// A reader that is too slow is told so, and where to go on.
func TestSlowReaderIsTold(t *testing.T) {
	streamIn(t, func(t *testing.T, w *whole, client net.Conn, ended <-chan struct{}) {
		synctest.Wait() // it is about to write
		for range 1000 {
			w.options.History.Record(history.Event{Kind: history.KindGateway, Text: "x"})
		}
		text, _ := io.ReadAll(client)
		<-ended
		if !strings.Contains(string(text), "event: dropped\ndata: {\"detail\":\"too slow") || !strings.Contains(string(text), "id: ") {
			t.Errorf("%d bytes, and it was not told: %.300s", len(text), text)
		}
	})
}

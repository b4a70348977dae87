package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/channel"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// hook is a channel that answers as the test wants: answer gives the n-th answer, n
// from 1.
type hook struct {
	answer func(ctx context.Context, n int) error

	mu     sync.Mutex
	titles []string
	at     []time.Time
}

func (h *hook) Send(ctx context.Context, m message.Message) error {
	h.mu.Lock()
	h.titles = append(h.titles, m.Title())
	h.at = append(h.at, time.Now())
	n := len(h.at)
	h.mu.Unlock()
	if h.answer == nil {
		return nil
	}
	return h.answer(ctx, n)
}

func (h *hook) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.titles)
}

// gap is the time between two tries, counted from 1.
func (h *hook) gap(from, to int) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at[to-1].Sub(h.at[from-1])
}

// answers gives one after the other, and the last one for ever.
func answers(list ...error) func(context.Context, int) error {
	return func(_ context.Context, n int) error { return list[min(n, len(list))-1] }
}

func hang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

var down = &channel.SendError{Text: "answered 500"}

func waits(d time.Duration) error { return &channel.SendError{Text: "answered 429", Wait: d} }

// rig is a running outbox on memory.
type rig struct {
	*Outbox
	log gatewaytest.Log
	h   *history.History
}

func start(t *testing.T, channels ...Channel) *rig {
	t.Helper()
	r := &rig{h: history.Open(history.Options{})}
	r.Outbox = New(Options{Channels: channels, History: r.h, Log: slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r.Start()
	return r
}

func (r *rig) end(t *testing.T, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r.Stop(ctx)
	if err := r.h.Close(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
}

var serial int

// news is a message about some dependencies.
func news(k message.Kind, ids ...string) message.Message {
	serial++
	m := message.Message{ID: fmt.Sprint(serial), Kind: k, At: time.Now(), Of: 99}
	state := recloser.Closed
	if k == message.Started {
		state = recloser.Open
	}
	for _, id := range ids {
		m.Items = append(m.Items, message.Item{Dependency: id, Name: id, Key: id, State: state})
	}
	return m
}

func (b *Outbox) tell(name string, all ...message.Message) {
	for _, m := range all {
		b.Push([]Letter{{name, m}})
	}
}

func (b *Outbox) results() (all []string) {
	for _, d := range slices.Backward(b.Deliveries("", "", 99)) {
		all = append(all, fmt.Sprintf("%s: %s %s", d.Channel, d.Title, d.Result))
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAcceptedIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a"))
		pass(time.Hour)
		r.tell("ops", news(message.Ended, "a"))
		r.end(t, time.Minute)
		want(t, h.seen(), "a is cut off", "a is back")
		want(t, r.results(), "ops: a is cut off accepted", "ops: a is back accepted")
		if text := r.log.String(); strings.Count(text, "alert accepted") != 2 || strings.Contains(text, "delivered") {
			t.Errorf("log:\n%s", text)
		}
	})
}

// G18: 429 Retry-After 10, and it recovers meanwhile: no stale message, no
// duplicates.
func TestG18NothingStaleAfterRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: answers(waits(10*time.Second), nil)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a"))
		synctest.Wait()
		r.tell("ops", news(message.Ended, "a"))
		r.end(t, time.Minute)
		want(t, h.seen(), "a is cut off", "a is back") // the first was refused
		if gap := h.gap(1, 2); gap < 10*time.Second || gap > 11*time.Second {
			t.Errorf("second try after %v, want 10 s", gap)
		}
		want(t, r.results(), "ops: a is cut off overtaken", "ops: a is back accepted")
	})
}

// The same if it recovers while the message is on its way, and that fails.
func TestOvertakenOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &hook{answer: func(_ context.Context, n int) error {
			if n == 1 {
				<-release
				return down
			}
			return nil
		}}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a", "b"))
		synctest.Wait()
		r.tell("ops", news(message.Ended, "a"))
		r.tell("ops", news(message.Ended, "b"))
		close(release)
		r.end(t, time.Minute)
		want(t, h.seen(), "2 of 99 cut off", "2 of 99 are back")
		want(t, r.results(), "ops: 2 of 99 cut off overtaken", "ops: 2 of 99 are back accepted", "ops: b is back merged")
	})
}

// A message about several loses only the part that is stale.
func TestPartlyOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: answers(down, nil)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a", "b", "c"))
		synctest.Wait()
		r.tell("ops", news(message.Ended, "b"))
		r.end(t, time.Minute)
		want(t, h.seen(), "3 of 99 cut off", "2 of 99 cut off", "b is back")
	})
}

func TestOneASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{}
		r := start(t, Channel{Name: "ops", Channel: h})
		for i, k := range []message.Kind{message.Started, message.Ended, message.Isolated, message.Held} {
			r.tell("ops", news(k, fmt.Sprint("h", i)))
		}
		r.end(t, time.Minute)
		for i := range 3 {
			if gap := h.gap(i+1, i+2); gap != time.Second {
				t.Errorf("gap %d is %v", i, gap)
			}
		}
	})
}

// What waits goes out in one message for each kind.
func TestMergedWhenItLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: answers(waits(30*time.Second), nil)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "first"))
		synctest.Wait()
		for i := range 300 {
			r.tell("ops", news(message.Started, fmt.Sprint("h", i)))
			if i%3 == 0 {
				r.tell("ops", news(message.Ended, fmt.Sprint("h", i)))
			}
		}
		r.end(t, 10*time.Minute)
		want(t, h.seen(), "first is cut off", "201 dependencies cut off", "100 dependencies are back")
	})
}

// A kill while a merged message is on its way must lose no part of it.
func TestMergedIsKeptWhileItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := &hook{answer: hang}
		r := start(t, Channel{Name: "box", Channel: box})
		r.Push([]Letter{{"box", news(message.Started, "a")}, {"box", news(message.Started, "b")}, {"box", news(message.Started, "c")}})
		synctest.Wait()
		r.tell("box", news(message.Started, "d")) // all is written down
		after := New(Options{Channels: []Channel{{Name: "box", Channel: box}}, History: r.h, Log: slog.New(slog.DiscardHandler)})
		var left []string
		for _, d := range after.all {
			if d.Result == Waiting {
				for _, i := range d.Message.Items {
					left = append(left, i.Dependency)
				}
			}
		}
		want(t, append(box.seen(), left...), "3 of 99 cut off", "a", "b", "c", "d")
		r.end(t, time.Second)
	})
}

func TestRetry(t *testing.T) {
	for name, fault := range map[string]error{"500": down, "429 without a time": waits(0), "a time that has passed": waits(-time.Hour), "any error": errors.New("x")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hook{answer: answers(fault, fault, fault, nil)}
				r := start(t, Channel{Name: "ops", Channel: h})
				r.tell("ops", news(message.Started, "a"))
				r.end(t, time.Minute)
				for i, longest := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
					if gap := h.gap(i+1, i+2); gap < longest/2 || gap > longest {
						t.Errorf("gap %d is %v, want %v to %v", i, gap, longest/2, longest)
					}
				}
				if d := r.Deliveries("ops", "", 9); len(d) != 1 || d[0].Result != Accepted || d[0].Tries != 4 {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestGivenUpAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: answers(down)}
		r := start(t, Channel{Name: "ops", Channel: h})
		r.tell("ops", news(message.Started, "a"))
		r.end(t, 25*time.Hour)
		d := r.Deliveries("ops", "", 9)
		if n := len(h.seen()); n < 24*60 || n > 24*120 || d[0].Result != GivenUp || d[0].Why != "answered 500" {
			t.Errorf("%d tries, %+v", n, d)
		}
	})
}

func TestHangHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := &hook{answer: hang}, &hook{}
		r := start(t, Channel{Name: "bad", Channel: bad}, Channel{Name: "good", Channel: good})
		begin := time.Now()
		for i := range 100 {
			m := news(message.Started, fmt.Sprint("h", i))
			r.Push([]Letter{{"bad", m}, {"good", m}})
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Push took %v", d)
		}
		synctest.Wait()
		if len(good.seen()) != 1 {
			t.Errorf("the other channel got %q", good.seen())
		}
		pass(12 * time.Second)
		if gap := bad.gap(1, 2); gap < 10*time.Second || gap > 12*time.Second {
			t.Errorf("tried again after %v, want about 10 s", gap)
		}
		begin = time.Now()
		r.end(t, 5*time.Second)
		if d := time.Since(begin); d > 6*time.Second {
			t.Errorf("Stop took %v, want 5 s", d)
		}
		if !strings.Contains(r.log.String(), `"messages are not sent, and lost: there is no storage on disk" count=`) {
			t.Errorf("log:\n%s", r.log.String())
		}
	})
}

// What was not sent goes out after a restart, and what was accepted does not.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	open := func() *history.History { return history.Open(history.Options{Path: path}) }
	h := open()
	bad, good := &hook{answer: hang}, &hook{}
	log := slog.New(slog.DiscardHandler)
	b := New(Options{Channels: []Channel{{Name: "bad", Channel: bad}, {Name: "good", Channel: good}, {Name: "gone", Channel: bad}}, History: h, Log: log})
	b.Start()
	m := news(message.Started, "a")
	b.Push([]Letter{{"bad", m}, {"good", m}, {"gone", m}}, history.PutIncident("a", []byte(`{"x":1}`)))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	b.Stop(ctx)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	h = open()
	bad.answer = nil
	b = New(Options{Channels: []Channel{{Name: "bad", Channel: bad}, {Name: "good", Channel: good}}, History: h, Log: log})
	b.Start()
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b.Stop(ctx)
	if kept, err := h.Incidents(t.Context()); err != nil || len(kept) != 1 || string(kept[0].Value) != `{"x":1}` {
		t.Errorf("incidents %v %v", kept, err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, good.seen(), "a is cut off")
	if got := b.Deliveries("bad", "", 9); got[0].Result != Accepted {
		t.Errorf("%+v", got)
	}
	if got := b.Deliveries("gone", "", 9); got[0].Result != GivenUp {
		t.Errorf("%+v", got)
	}
}

func TestDeliveriesAreBoundedAndPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Channel{Name: "ops", Channel: &hook{}})
		for i := range kept + 50 {
			r.Now(t.Context(), Letter{"ops", news(message.Test, fmt.Sprint(i))})
		}
		first := r.Deliveries("ops", "", 400)
		rest := r.Deliveries("ops", first[399].ID, 2000)
		if len(first)+len(rest) != kept || first[399].ID <= rest[0].ID || len(r.Deliveries("other", "", 9)) != 0 {
			t.Errorf("%d and %d", len(first), len(rest))
		}
		if all, err := r.h.Deliveries(t.Context()); err != nil || len(all) != kept {
			t.Errorf("%d are kept, %v", len(all), err)
		}
		r.end(t, time.Minute)
	})
}

func TestNowPassesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: hang}
		r := start(t, Channel{Name: "ops", Channel: h})
		begin := time.Now()
		d := r.Now(t.Context(), Letter{"ops", news(message.Test)})
		if d.Result != Refused || d.Why == "" || time.Since(begin) != deadline {
			t.Errorf("%+v after %v", d, time.Since(begin))
		}
		r.end(t, time.Minute)
	})
}

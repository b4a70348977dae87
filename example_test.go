package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/recloser-go/recloser"
)

// One breaker guards one dependency. Every call to it goes through Do; once the
// dependency is down, Do refuses at once what would only wait.
func ExampleBreaker_Do() {
	hotel, err := recloser.New(recloser.Config{
		Name:        "hotel-3",
		SlowCall:    800 * time.Millisecond, // not answered by then is as bad as failed
		Consecutive: 3,                      // bad calls in a row that trip
	})
	if err != nil {
		log.Fatal(err)
	}

	// The hotel's database is down: each call fails.
	mayEnter := func(context.Context) error { return errors.New("500 from the hotel") }

	for range 4 {
		err := hotel.Do(context.Background(), mayEnter)
		if errors.Is(err, recloser.ErrOpen) {
			fmt.Println("not asked:", err)
			continue
		}
		fmt.Println("asked:", err)
	}
	// Output:
	// asked: 500 from the hotel
	// asked: 500 from the hotel
	// asked: 500 from the hotel
	// not asked: recloser: "hotel-3" is open (cut off): last failure: 500 from the hotel
}

// The function Do is for calls that return a value.
func ExampleDo() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-3"})
	if err != nil {
		log.Fatal(err)
	}

	rooms, err := recloser.Do(context.Background(), hotel, func(context.Context) (int, error) {
		return 12, nil // ask the hotel, with the context given
	})
	fmt.Println(rooms, err)

	// An operator may cut a dependency off too. What is refused returns the zero value.
	if err := hotel.Isolate("ann", "database moves", time.Time{}); err != nil {
		log.Fatal(err)
	}
	rooms, err = recloser.Do(context.Background(), hotel, func(context.Context) (int, error) {
		return 12, nil
	})
	var refused *recloser.OpenError
	if errors.As(err, &refused) {
		fmt.Println(rooms, refused.Reason)
	}
	// Output:
	// 12 <nil>
	// 0 isolated
}

// Where a call is no function, ask with Allow and report its end. A call that
// has a long answer, a download or a stream, says when the answer begins: only
// the time until then is judged as slow or not.
func ExampleBreaker_Allow() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a long list of guests")
	}))
	defer server.Close()

	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", SlowCall: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}

	download := func(ctx context.Context) (string, error) {
		call, err := hotel.Allow(ctx)
		if err != nil {
			return "", err // refused: the call must not be made
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			call.Cancel() // the call was never made: nothing is counted
			return "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			call.Done(err)
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		call.Answered()

		body, err := io.ReadAll(response.Body)
		call.Done(err) // a body that breaks off is a failure
		return string(body), err
	}

	fmt.Println(download(context.Background()))
	fmt.Println("good calls:", hotel.Stats().Success)
	// Output:
	// a long list of guests <nil>
	// good calls: 1
}

// A listener hears of every change of state, in order. It delays no call, so it
// may log, or send a message to people.
func ExampleBreaker_Subscribe() {
	// A log without times, so that this example always prints the same.
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))

	hotel, err := recloser.New(recloser.Config{Name: "hotel-3", Consecutive: 2, Trials: 1, Jitter: recloser.Off})
	if err != nil {
		log.Fatal(err)
	}
	reclosed := make(chan struct{})
	hotel.Subscribe(func(t recloser.Transition) {
		level := slog.LevelInfo
		if t.To == recloser.Open {
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("dependency", t.Name), slog.String("is", t.To.Effect()), slog.String("reason", string(t.Reason))}
		if t.To == recloser.Open {
			attrs = append(attrs, slog.Duration("open_for", t.OpenFor), slog.Uint64("bad", t.Counts.Bad()), slog.Any("cause", t.Cause))
		}
		if t.By != "" {
			attrs = append(attrs, slog.String("by", t.By))
		}
		logger.LogAttrs(context.Background(), level, "breaker changed", attrs...)
		if t.To == recloser.Closed {
			close(reclosed)
		}
	})

	call := func(err error) { _ = hotel.Do(context.Background(), func(context.Context) error { return err }) }
	call(errors.New("connection refused"))
	call(errors.New("connection refused"))
	hotel.TryNow("ann", "the hotel says it is back") // rather than wait for the open time to end
	call(nil)
	<-reclosed // listeners are told on a goroutine of their own
	// Output:
	// level=WARN msg="breaker changed" dependency=hotel-3 is="cut off" reason=run open_for=5s bad=2 cause="connection refused"
	// level=INFO msg="breaker changed" dependency=hotel-3 is="on trial" reason=early by=ann
	// level=INFO msg="breaker changed" dependency=hotel-3 is=passing reason="trials good"
}

// A set makes the breakers of many dependencies, each on first use.
func ExampleSet() {
	hotels, err := recloser.NewSet(
		recloser.Config{Consecutive: 3, SlowCall: 800 * time.Millisecond},
		map[string]recloser.Config{
			"hotel-7": {Consecutive: 3, SlowCall: 4 * time.Second}, // known to be slow, and well
		},
	)
	if err != nil {
		log.Fatal(err)
	}

	down := map[string]error{"hotel-5": errors.New("connection refused")}
	for range 3 {
		for _, name := range []string{"hotel-7", "hotel-3", "hotel-5"} {
			_ = hotels.Get(name).Do(context.Background(), func(context.Context) error { return down[name] })
		}
	}
	for name, hotel := range hotels.All() {
		fmt.Println(name, "is", hotel.State().Effect())
	}
	// Output:
	// hotel-3 is passing
	// hotel-5 is cut off
	// hotel-7 is passing
}

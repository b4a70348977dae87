package gatewaytest

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Behaviour is what a dependency does with a call.
type Behaviour func(http.ResponseWriter, *http.Request)

// Answer gives this status and body at once.
func Answer(status int, body string) Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Yes is the JSON answer of a hotel that knows the guest.
func Yes() Behaviour { return Answer(http.StatusOK, `{"allowed": true}`) }

// No is the JSON answer of a hotel that does not.
func No() Behaviour { return Answer(http.StatusOK, `{"allowed": false}`) }

// Hang answers nothing until the caller goes away.
func Hang() Behaviour {
	return func(_ http.ResponseWriter, r *http.Request) {
		drain(r)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Slow behaves like b, later. It stops when the caller goes away.
func Slow(d time.Duration, b Behaviour) Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		select {
		case <-time.After(d):
			b(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// BreakOff promises n bytes of body, sends half of them and closes the
// connection.
func BreakOff(n int) Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Content-Length", strconv.Itoa(n))
		_, _ = w.Write(make([]byte, n/2))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Refuse closes the connection without a word.
func Refuse() Behaviour {
	return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

// Switch answers 101 Switching Protocols, asked or not, and then says nothing
// until the caller goes away.
func Switch(protocol string) Behaviour {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, rw)
	}
}

// Flap is good for the time up, then bad for the time down, and so on, from its
// first call.
func Flap(up, down time.Duration, good, bad Behaviour) Behaviour {
	start := sync.OnceValue(time.Now)
	return func(w http.ResponseWriter, r *http.Request) {
		if time.Since(start())%(up+down) < up {
			good(w, r)
		} else {
			bad(w, r)
		}
	}
}

// InTurn takes one after the other for each call, over and over.
func InTurn(all ...Behaviour) Behaviour {
	var calls atomic.Uint64
	return func(w http.ResponseWriter, r *http.Request) {
		all[(calls.Add(1)-1)%uint64(len(all))](w, r)
	}
}

package tempstore

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// patience is for what takes a moment on an idle machine.
const patience = time.Minute

// echo is a server that says again what it hears.
func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func newRelay(t *testing.T, to string) *Relay {
	t.Helper()
	r, err := NewRelay(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

type caller struct {
	net.Conn
	in *bufio.Reader
}

func call(t *testing.T, r *Relay) caller {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return caller{conn, bufio.NewReader(conn)}
}

// say sends a line and returns what comes back.
func (c caller) say(text string) (string, error) {
	if _, err := fmt.Fprintln(c, text); err != nil {
		return "", err
	}
	return c.in.ReadString('\n')
}

func TestRelay(t *testing.T) {
	r := newRelay(t, echo(t))
	before := call(t, r)
	if got, err := before.say("one"); err != nil || got != "one\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	r.Cut()
	during := call(t, r)
	answers := make(chan error, 2)
	for _, c := range []caller{before, during} {
		go func() {
			got, err := c.say("two")
			if err == nil {
				err = fmt.Errorf("it got through: %q", got)
			} else {
				err = nil
			}
			answers <- err
		}()
	}
	select {
	case err := <-answers:
		t.Errorf("while it is cut somebody is told: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	r.Heal()
	for range 2 { // connections of before are no more
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if got, err := call(t, r).say("three"); err != nil || got != "three\n" {
		t.Errorf("healed, it answers %q, %v", got, err)
	}
}

// Where the server is away, so is the relay, and it comes back with it.
func TestRelayToNobody(t *testing.T) {
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	r := newRelay(t, addr)
	if got, err := call(t, r).say("one"); err == nil {
		t.Errorf("nobody said %q", got)
	}
}

func TestRelayClosesWhatIsOpen(t *testing.T) {
	for _, cut := range []bool{false, true} {
		r := newRelay(t, echo(t))
		c := call(t, r)
		if _, err := c.say("one"); err != nil {
			t.Fatal(err)
		}
		if cut {
			r.Cut()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got, err := c.say("two"); err == nil {
			t.Errorf("cut %v: closed, it says %q", cut, got)
		}
	}
}

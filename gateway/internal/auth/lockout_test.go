package auth

import (
	"net/netip"
	"testing"
	"time"
)

var noon = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)

func TestLockoutGrows(t *testing.T) {
	l := newLockout()
	addr := network(netip.MustParseAddr("192.0.2.1"))
	want := []time.Duration{
		0, 0, 0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		32 * time.Second, 64 * time.Second, 128 * time.Second, 256 * time.Second, 5 * time.Minute, 5 * time.Minute,
	}
	now := noon
	for i, w := range want {
		if got := l.wrong(addr, now); got != w {
			t.Errorf("after %d wrong ones: locked for %s, want %s", i+1, got, w)
		}
		if got := l.wait(addr, now); got != w {
			t.Errorf("after %d wrong ones: wait %s, want %s", i+1, got, w)
		}
		now = now.Add(w)
		if got := l.wait(addr, now); got != 0 {
			t.Errorf("once %s are over: wait %s", w, got)
		}
	}
	for range 100 {
		l.wrong(addr, now)
	}
	if got := l.wait(addr, now); got != 5*time.Minute {
		t.Errorf("after very many: %s", got)
	}
	if got := l.wrong(addr, now.Add(forgotten)); got != 0 {
		t.Errorf("a quarter of an hour later: locked for %s at the first one, want forgotten", got)
	}
}

func TestLockoutIsOfOneNetwork(t *testing.T) {
	l := newLockout()
	lock := func(addr string) time.Duration { return l.wait(network(netip.MustParseAddr(addr)), noon) }
	for range freeTries + 1 {
		l.wrong(network(netip.MustParseAddr("192.0.2.1")), noon)
		l.wrong(network(netip.MustParseAddr("2001:db8::1")), noon)
	}
	for addr, locked := range map[string]bool{
		"192.0.2.1": true, "::ffff:192.0.2.1": true, "192.0.2.2": false,
		"2001:db8::ffff:1": true, "2001:db8:0:1::1": false,
	} {
		if got := lock(addr) > 0; got != locked {
			t.Errorf("%s: locked %v, want %v", addr, got, locked)
		}
	}
}

// However many addresses try, no more are remembered than fit; those who try on
// stay, of the others the oldest are forgotten.
func TestLockoutIsBounded(t *testing.T) {
	l := newLockout()
	addr := func(i int) netip.Prefix {
		return network(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	stubborn := network(netip.MustParseAddr("192.0.2.1"))
	for i := range 3 * mostTriers {
		now := noon.Add(time.Duration(i) * time.Millisecond)
		l.wrong(addr(i), now)
		l.wrong(stubborn, now)
		if len(l.triers) > mostTriers {
			t.Fatalf("%d are remembered", len(l.triers))
		}
	}
	if l.wait(stubborn, noon.Add(3*mostTriers*time.Millisecond)) == 0 {
		t.Error("who tried all the time is forgotten")
	}
	if l.triers[addr(0)] != nil || l.triers[addr(3*mostTriers-1)] == nil {
		t.Error("not the oldest was forgotten")
	}
	for i := range mostTriers {
		l.wrong(addr(1<<20+i), noon.Add(time.Hour))
	}
	if l.triers[stubborn] != nil {
		t.Error("an hour later he is still remembered, although there is no room for others")
	}
}

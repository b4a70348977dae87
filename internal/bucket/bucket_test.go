package bucket

import (
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	b := New(0, 2, 5)
	took := func() (n int) {
		for n = 0; ; n++ {
			if _, ok := b.Take(0); !ok {
				return n
			}
		}
	}
	if n := took(); n != 2 {
		t.Errorf("%d tokens at the start, want those that fit in", n)
	}
	for range 10 { // 0.1 added ten times is a hair below 1
		b.Put(0.1)
	}
	if n := took(); n != 1 {
		t.Errorf("%d tokens of ten tenths, want 1", n)
	}
	b.Put(9)
	if n := took(); n != 2 {
		t.Errorf("%d tokens of nine, want those that fit in", n)
	}
}

func TestTimeFillsIt(t *testing.T) {
	b := New(4, 2, 0)
	for _, c := range []struct {
		at, wait time.Duration
		ok       bool
		left     float64
	}{
		{0, 250 * time.Millisecond, false, 0},
		{200 * time.Millisecond, 50 * time.Millisecond, false, 0.8},
		{250 * time.Millisecond, 0, true, 0},
		{time.Hour, 0, true, 1},
		{time.Hour - time.Second, 0, true, 0}, // read before another, came after it
		{time.Hour, 250 * time.Millisecond, false, 0},
	} {
		wait, ok := b.Take(c.at)
		if wait != c.wait || ok != c.ok || b.Tokens() < c.left-1e-9 || b.Tokens() > c.left+1e-9 {
			t.Errorf("at %s: %s, %t, %v left; want %+v", c.at, wait, ok, b.Tokens(), c)
		}
	}
}

func TestNilHasForEveryone(t *testing.T) {
	var b *Bucket
	b.Put(1)
	if wait, ok := b.Take(0); wait != 0 || !ok {
		t.Errorf("got %s, %t", wait, ok)
	}
}

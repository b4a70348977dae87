package town

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestGuestsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		start := time.Now()
		Guests{
			Every: 50 * time.Millisecond, Offset: 10 * time.Millisecond, Until: time.Second, Done: log.Add,
			Call: func(n uint64) Call {
				<-time.After(3 * time.Second)
				return Call{OK: n > 0}
			},
		}.Come(t.Context(), start)
		calls := log.Calls()
		if len(calls) != 20 {
			t.Fatalf("%d guests came, want 20", len(calls))
		}
		for i, c := range calls {
			if want := time.Duration(i)*50*time.Millisecond + 10*time.Millisecond; c.N != uint64(i) || c.Due != want || c.Late != 0 {
				t.Errorf("guest %d: %+v, want one due at %v", i, c, want)
			}
			if c.Took != 3*time.Second || c.OK != (i > 0) {
				t.Errorf("guest %d: %+v, want 3 s", i, c)
			}
		}
		if took := time.Since(start); took != 960*time.Millisecond+3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestGuestsStayAwayOnceItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
		defer cancel()
		var log Log
		g := Guests{Every: 50 * time.Millisecond, Until: time.Hour, Done: log.Add, Call: func(uint64) Call { return Call{} }}
		g.Come(ctx, time.Now())
		if n := len(log.Calls()); n != 3 {
			t.Errorf("%d guests came, want those at 0, 50 and 100 ms", n)
		}
	})
}

package demo

import (
	"context"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachIsEvenlySpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock{time.Now()}
		var came []time.Duration
		each(t.Context(), c, 4*ms, time.Second, scansPerSecond, func(n int, due time.Duration) {
			if n != len(came) || due != c.now() {
				t.Errorf("guest %d of %d came at %s, was due at %s", n, len(came), c.now(), due)
			}
			came = append(came, due)
		})
		if len(came) != scansPerSecond {
			t.Fatalf("%d guests came in a second, want %d", len(came), scansPerSecond)
		}
		for i := 1; i < len(came); i++ {
			if gap := came[i] - came[i-1]; gap < 8333333 || gap > 8333334 {
				t.Errorf("guest %d came %s after the one before", i, gap)
			}
		}
	})
}

func TestHotelOfUnknown(t *testing.T) {
	guests := make([]int, hotelsPerLane+1)
	for n := range 160 {
		guests[hotelOfUnknown(n)]++
	}
	if guests[0] != 40 {
		t.Errorf("%d of 160 guests belong to no hotel, want every fourth", guests[0])
	}
	for hotel, n := range guests[1:] {
		if n != 10 {
			t.Errorf("%d of 160 guests belong to hotel %d, want 10", n, hotel+1)
		}
	}
}

// patientLane is one whose guests wait until their visit is ended.
type patientLane struct{}

func (patientLane) scan(ctx context.Context, _ int, _ url.Values) (result, bool) {
	<-ctx.Done()
	return failed, false
}

func (p patientLane) ask(ctx context.Context, query url.Values) (result, bool) {
	return p.scan(ctx, 0, query)
}

// Who stops the demo stops guests from coming; those who wait have time to leave.
func TestNoMoreGuestsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		coming, stop := context.WithCancel(t.Context())
		visiting, end := context.WithCancel(t.Context())
		defer end()
		l := &lane{turnstile: patientLane{}, visits: &visits{}}
		left := make(chan struct{})
		go func() {
			defer close(left)
			sendGuests(coming, visiting, clock{time.Now()}, time.Hour, []*lane{l})
		}()
		<-time.After(time.Second)
		stop()
		synctest.Wait()
		came := len(l.visits.list())
		<-time.After(time.Minute)
		if n := len(l.visits.list()); n != came || came < scansPerSecond {
			t.Errorf("%d guests had come, and %d a minute later", came, n)
		}
		if v := viewOf(l.visits.list(), time.Minute); v.waiting != came {
			t.Errorf("%d of %d guests still wait", v.waiting, came)
		}
		end()
		<-left
	})
}

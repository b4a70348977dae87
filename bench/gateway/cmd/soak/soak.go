package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// partners is how many hotels there are.
const partners = 12

// asks is from one guest who asks all hotels to the next.
const asks = 200 * time.Millisecond

// soak is a gateway with all that happens to it.
type soak struct {
	gateway  *entrant.Gateway
	admin    *admin
	partners []*partner
	behind   []entrant.Hotel // the same, as the gateway's file has them
	house    *town.Hotel     // of dependencies that come and go; always well
	start    time.Time

	acts                      atomic.Int64
	calls, ok, refused, other atomic.Int64
	away                      atomic.Int64 // guests who stayed away

	mu     sync.Mutex
	faults []string // what must not be
}

// openSoak opens the hotels and starts the gateway.
func openSoak(t entrant.Tools, dir string) (*soak, error) {
	s := &soak{start: time.Now()}
	var err error
	if s.house, err = town.Open("house", town.Usual); err != nil {
		return nil, err
	}
	for i := range partners {
		h, err := town.Open("hotel-"+strconv.Itoa(i+1), town.Usual)
		if err != nil {
			s.close()
			return nil, err
		}
		s.partners = append(s.partners, &partner{Hotel: h, since: s.start})
		s.behind = append(s.behind, entrant.Hotel{ID: h.ID, Address: h.Address()})
	}
	o := entrant.Options{Dir: dir, ProbePath: town.ProbePath, Hotels: s.behind, Storage: true}
	if s.gateway, err = entrant.Recloser().Start(t, o); err != nil {
		s.close()
		return nil, err
	}
	s.admin = newAdmin(s.gateway.AdminURL)
	return s, nil
}

func (s *soak) close() {
	if s.gateway != nil {
		s.gateway.Stop()
	}
	for _, p := range s.partners {
		p.Close()
	}
	s.house.Close()
}

// found notes what must not be.
func (s *soak) found(text string) {
	text = fmt.Sprintf("%.0f s: %s", time.Since(s.start).Seconds(), text)
	say("WRONG at %s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, text)
}

func (s *soak) wrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.faults...)
}

// patient is how many guests wait at one hotel at most. Should the machine not keep
// up, more stay away: else sockets run out, of this program and of the gateway.
const patient = 100

// guests come to a url and are counted.
func (s *soak) guests(client *http.Client, url string, every, offset, until time.Duration) town.Guests {
	waiting := new(atomic.Int64)
	return town.Guests{
		Every: every, Offset: offset, Until: until, Done: s.count,
		Call: func(n uint64) town.Call {
			defer waiting.Add(-1)
			if waiting.Add(1) > patient {
				s.away.Add(1)
				return town.Call{}
			}
			return town.Visit(client, url+"?n="+strconv.FormatUint(n, 10))
		},
	}
}

func (s *soak) count(c town.Call) {
	s.calls.Add(1)
	switch {
	case c.OK:
		s.ok.Add(1)
	case c.Ours:
		s.refused.Add(1)
	default:
		s.other.Add(1)
	}
}

// play lets everything happen at this rate of calls a second for so long.
func (s *soak) play(ctx context.Context, seed uint64, rate float64, d time.Duration, table *csvTable) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.start = time.Now()
	client := town.NewClient()
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	every := every(rate)
	for i, p := range s.partners {
		p.set(trouble{}, s.start)
		offset := every * time.Duration(i) / partners
		all.Go(func() {
			s.guests(client, s.gateway.HotelURL(p.ID, town.GuestPath), every, offset, d).Come(ctx, s.start)
		})
		all.Go(func() {
			p.suffer(ctx, rand.New(rand.NewPCG(seed, uint64(i))), func(text string) {
				say("%.0f s: %s", time.Since(s.start).Seconds(), text)
			})
		})
	}
	all.Go(func() {
		ask := func(n uint64) town.Call {
			return town.AskGateway(client, fmt.Sprintf("%s%s?at=hotel-%d", s.gateway.URL, town.AskPath, n%(2*partners)))
		}
		town.Guests{Every: asks, Until: d, Done: s.count, Call: ask}.Come(ctx, s.start)
	})
	all.Go(func() { s.act(ctx, rand.New(rand.NewPCG(seed, partners))) })
	all.Go(func() { s.reload(ctx) })
	all.Go(func() { s.extend(ctx, client) })
	all.Go(func() { s.admin.readSlowly(ctx) })
	err := s.watch(ctx, table)
	cancel()
	all.Wait()
	return err
}

package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// settle is how long everything runs before a turn is measured: viewers have the
// page and the stream's begin behind them.
const settle = 5 * time.Second

// Of the hotel that is ill in the second half: it fails, is cut off and comes back
// three times a minute.
const (
	illEvery = 20 * time.Second
	illFor   = 4 * time.Second
	illCalls = 250 * time.Millisecond // from one of its guests to the next
)

// scene is a gateway with its hotels.
type scene struct {
	options
	hotels  []*town.Hotel
	gateway *entrant.Gateway
}

func openScene(t entrant.Tools, dir string, o options) (*scene, error) {
	s := &scene{options: o}
	var behind []entrant.Hotel
	for i := range o.dependencies {
		h, err := town.Open("hotel-"+strconv.Itoa(i+1), town.Usual)
		if err != nil {
			s.close()
			return nil, err
		}
		s.hotels = append(s.hotels, h)
		behind = append(behind, entrant.Hotel{ID: h.ID, Address: h.Address()})
	}
	var err error
	s.gateway, err = entrant.Recloser().Start(t, entrant.Options{Dir: dir, ProbePath: town.ProbePath, Hotels: behind, Storage: true})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scene) close() {
	if s.gateway != nil {
		s.gateway.Stop()
	}
	for _, h := range s.hotels {
		h.Close()
	}
}

// play takes all turns: first while all hotels are well, then while one is ill. In
// each round turns of all kinds come one after the other, so what disturbs the
// machine for long disturbs all.
func (s *scene) play(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	client := town.NewClient()
	defer client.CloseIdleConnections()
	all.Go(func() { s.call(ctx, client) })

	page, err := openPage(ctx)
	if err != nil {
		return nil, err
	}
	defer page.close()
	r := &report{}
	for _, ill := range []bool{false, true} {
		if ill {
			all.Go(func() { s.ail(ctx, client) })
		}
		for round := range s.rounds {
			say("round %d of %d, %s", round+1, s.rounds, mood(ill))
			for _, kind := range []kind{alone, watched, inBrowser} {
				t, err := s.turn(ctx, kind, page)
				if err != nil {
					return nil, err
				}
				r.add(ill, kind, t)
			}
		}
	}
	return r, ctx.Err()
}

func mood(ill bool) string {
	if ill {
		return "one hotel trips and recloses"
	}
	return "all hotels are well"
}

// call makes calls at random times to random hotels.
func (s *scene) call(ctx context.Context, client *http.Client) {
	random := rand.New(rand.NewPCG(s.seed, 0))
	var under sync.WaitGroup
	defer under.Wait()
	for n := uint64(0); ; n++ {
		if !town.Wait(ctx, time.Duration(random.ExpFloat64()/s.rate*float64(time.Second))) {
			return
		}
		url := s.url(s.hotels[random.IntN(len(s.hotels))], n)
		under.Go(func() { town.Visit(client, url) })
	}
}

// ail makes the first hotel ill again and again.
func (s *scene) ail(ctx context.Context, client *http.Client) {
	var under sync.WaitGroup
	defer under.Wait()
	h := s.hotels[0]
	begin := time.Now()
	for n := uint64(0); ; n++ {
		if now := time.Now(); !now.Before(begin) {
			h.Fault(begin, begin.Add(illFor), town.Errors())
			begin = begin.Add(illEvery)
		}
		url := s.url(h, n)
		under.Go(func() { town.Visit(client, url) })
		if !town.Wait(ctx, illCalls) {
			return
		}
	}
}

func (s *scene) url(h *town.Hotel, n uint64) string {
	return s.gateway.HotelURL(h.ID, town.GuestPath) + "?n=" + strconv.FormatUint(n, 10)
}

// turn measures one kind of watching.
func (s *scene) turn(ctx context.Context, k kind, page *page) (t turn, err error) {
	watching, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	var viewers []*viewer
	if k == watched {
		for range s.viewers {
			v := newViewer(s.gateway.AdminURL)
			viewers = append(viewers, v)
			all.Go(func() { v.watch(watching) })
		}
	}
	if k == inBrowser {
		if err := page.open(s.gateway.AdminURL + "/"); err != nil {
			return t, err
		}
		defer page.leave()
	}
	if err := begun(ctx, viewers); err != nil {
		return t, err
	}
	if !town.Wait(ctx, settle) {
		return t, ctx.Err()
	}
	before, err := s.look(k, viewers, page)
	if err != nil {
		return t, err
	}
	if !town.Wait(ctx, s.d) {
		return t, ctx.Err()
	}
	after, err := s.look(k, viewers, page)
	if err != nil {
		return t, err
	}
	return before.until(after), nil
}

// begun waits until every viewer has the stream's beginning, and a frame, behind him:
// on a machine that is busy that takes a while.
func begun(ctx context.Context, viewers []*viewer) error {
	for i := 0; i < len(viewers); {
		switch err := viewers[i].failed(); {
		case err != nil:
			return err
		case viewers[i].frames.Load() > 0:
			i++
		case !town.Wait(ctx, 50*time.Millisecond):
			return ctx.Err()
		}
	}
	return nil
}

// look reads all clocks and counters.
func (s *scene) look(k kind, viewers []*viewer, page *page) (l look, err error) {
	if err := s.gateway.Ended(); err != nil {
		return l, err
	}
	if l.cpu, err = s.gateway.CPU(); err != nil {
		return l, err
	}
	for _, v := range viewers {
		if err := v.failed(); err != nil {
			return l, err
		}
		l.stream += v.stream.Load()
		l.pages += v.pages.Load()
		l.frames += v.frames.Load()
		l.renewed += v.renewed.Load()
	}
	l.viewers = len(viewers)
	if k == inBrowser {
		if l.browser, err = page.look(); err != nil {
			return l, err
		}
	}
	l.at = time.Now()
	return l, nil
}

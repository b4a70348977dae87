package main

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// askTimeout is what a client that asks each hotel by itself waits for one.
const askTimeout = 1700 * time.Millisecond

// side is a gateway with hotels and guests of its own.
type side struct {
	*entrant.Gateway
	row    row
	calm   bool // without a fault
	hotels []*town.Hotel
	logs   []*town.Log // of each hotel's guests; of an ask there is one
	guests []town.Guests
}

// place is which of all sides one is, so that no two guests are due together.
type place struct{ number, of int }

// openSide opens the hotels, starts the gateway and gets the guests ready.
func openSide(kind entrant.Kind, r row, calm bool, at place, p phases, t entrant.Tools, dir string) (*side, error) {
	s := &side{row: r, calm: calm}
	o := entrant.Options{Dir: filepath.Join(dir, fmt.Sprintf("%s-%d", kind.Name, at.number)), ProbePath: town.ProbePath}
	for i := range r.hotels {
		latency := town.Usual
		if i < r.ill {
			latency = r.latency
		}
		h, err := town.Open("hotel-"+strconv.Itoa(i+1), latency)
		if err != nil {
			s.close()
			return nil, err
		}
		s.hotels = append(s.hotels, h)
		o.Hotels = append(o.Hotels, entrant.Hotel{ID: h.ID, Address: h.Address()})
	}
	var err error
	if s.Gateway, err = kind.Start(t, o); err != nil {
		s.close()
		return nil, err
	}
	client := town.NewClient()
	if r.ask {
		s.expect(r.every, 0, at, p, func(n uint64) town.Call { return s.ask(client, n) })
		return s, nil
	}
	for i, h := range s.hotels {
		every := evenly
		if i < r.ill {
			every = r.every
		}
		url := s.HotelURL(h.ID, town.GuestPath) + "?n="
		s.expect(every, i, at, p, func(n uint64) town.Call { return town.Visit(client, url+strconv.FormatUint(n, 10)) })
	}
	return s, nil
}

// expect notes guests who are to come to hotel number i.
func (s *side) expect(every time.Duration, i int, at place, p phases, call func(uint64) town.Call) {
	log := new(town.Log)
	s.logs = append(s.logs, log)
	s.guests = append(s.guests, town.Guests{
		Every: every, Until: p.end(), Call: call, Done: log.Add,
		Offset: every * time.Duration(i*at.of+at.number) / time.Duration(s.row.hotels*at.of),
	})
}

// ask asks all hotels for guest n. Every other guest is known at a hotel that is
// well; the others are known nowhere, so that for them all must be heard.
func (s *side) ask(client *http.Client, n uint64) town.Call {
	known := "nowhere"
	if well := s.hotels[s.row.ill:]; n%2 == 0 {
		known = well[int(n/2)%len(well)].ID
	}
	query := fmt.Sprintf("%s?at=%s&n=%d", town.AskPath, known, n)
	if s.Asks {
		return town.AskGateway(client, s.URL+query)
	}
	urls := map[string]string{}
	for _, h := range s.hotels {
		urls[h.ID] = s.HotelURL(h.ID, query)
	}
	return town.AskEach(client, urls, askTimeout)
}

func (s *side) close() {
	if s.Gateway != nil {
		s.Stop()
	}
	for _, h := range s.hotels {
		h.Close()
	}
}

// ill are the hotels that follow the script.
func (s *side) ill() []*town.Hotel { return s.hotels[:s.row.ill] }

// figures returns those of a side once its guests are done.
func (s *side) figures(p phases) figures {
	if s.row.ask {
		return ofAsks(s.logs[0].Calls(), s.hotels[0].ID, p)
	}
	var each []figures
	for i, h := range s.ill() {
		each = append(each, ofIll(s.logs[i].Calls(), h, s.row.script, p))
	}
	f := worst(each)
	var healthy []town.Call
	for _, log := range s.logs[s.row.ill:] {
		healthy = slices.Concat(healthy, log.Calls())
	}
	if len(healthy) > 0 {
		maps.Copy(f, ofHealthy(healthy, p))
	}
	return f
}

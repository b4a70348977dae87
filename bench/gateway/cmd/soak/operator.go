package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// how often things are done.
const (
	actEvery    = 10 * time.Second
	reloadEvery = 15 * time.Second
	houseEvery  = 8 * time.Second
)

// act lets people act on hotels at random.
func (s *soak) act(ctx context.Context, random *rand.Rand) {
	for town.Wait(ctx, actEvery) {
		p := s.partners[random.IntN(len(s.partners))]
		last := seconds(random, 3, 20)
		until, path := time.Now().Add(last), "/api/v1/dependencies/"+p.ID
		override := map[string]any{"for": fmt.Sprintf("%.0fs", last.Seconds()), "reason": "soak", "by": "soak"}
		why := map[string]any{"reason": "soak", "by": "soak"}
		kind := random.IntN(4)
		if kind > 1 {
			until = time.Now()
		}
		if !p.touch(until) {
			continue
		}
		switch kind {
		case 0:
			override["mode"] = "isolated"
			s.do(ctx, http.MethodPut, path+"/override", override, http.StatusOK)
		case 1:
			override["mode"] = "held-closed"
			s.do(ctx, http.MethodPut, path+"/override", override, http.StatusOK)
		case 2:
			s.do(ctx, http.MethodPost, path+"/trial", why, http.StatusOK, http.StatusConflict) // not open
		default:
			s.do(ctx, http.MethodPost, path+"/reset", why, http.StatusOK)
		}
	}
}

// do acts, and notes an answer that is not one of those expected.
func (s *soak) do(ctx context.Context, method, path string, body any, expected ...int) {
	status, text, err := s.admin.send(ctx, method, path, body)
	s.acts.Add(1)
	if ctx.Err() == nil && !slices.Contains(expected, status) {
		s.found(fmt.Sprintf("%s %s: status %d (%v): %s", method, path, status, err, text))
	}
}

// reload changes the configuration file and has it read again: the names of
// hotels, and one hotel that comes and goes.
func (s *soak) reload(ctx context.Context) {
	for n := 1; town.Wait(ctx, reloadEvery); n++ {
		var hotels []entrant.Hotel
		for _, h := range s.behind {
			h.Name = fmt.Sprintf("%s, edition %d", h.ID, n)
			hotels = append(hotels, h)
		}
		if n%2 == 1 {
			hotels = append(hotels, entrant.Hotel{ID: "annex", Address: s.house.Address()})
		}
		if err := s.gateway.Rewrite(hotels); err != nil {
			s.found(err.Error())
			continue
		}
		s.do(ctx, http.MethodPost, "/api/v1/reload", map[string]any{}, http.StatusOK)
	}
}

// extend adds a dependency at run time, lets guests come to it and removes it.
func (s *soak) extend(ctx context.Context, client *http.Client) {
	for n := 1; town.Wait(ctx, houseEvery/2); n++ {
		id := fmt.Sprintf("house-%d", n)
		definition := map[string]any{"url": "http://" + s.house.Address(), "probe": map[string]any{"path": town.ProbePath}}
		s.do(ctx, http.MethodPost, "/api/v1/dependencies", map[string]any{"id": id, "definition": definition, "reason": "soak", "by": "soak"}, http.StatusCreated)
		s.guests(client, s.gateway.HotelURL(id, town.GuestPath), 50*time.Millisecond, 0, houseEvery/2).Come(ctx, time.Now())
		s.do(ctx, http.MethodDelete, "/api/v1/dependencies/"+id+"?reason=soak&by=soak", nil, http.StatusNoContent)
	}
}

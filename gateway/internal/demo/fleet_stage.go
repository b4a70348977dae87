package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/tempstore"
)

const (
	fleetHotels         = 6
	fleetScansPerSecond = 6 // at each gateway: one of each hotel
	quietEvery          = 6 * time.Second
	// What befalls whom.
	hungTogether = 1
	hungAlone    = 3
	isolated     = 5
	operatorName = "ines"
	// meetLimit is how long store and gateways may take to start and to meet.
	meetLimit = time.Minute
	lookEvery = 50 * time.Millisecond
)

// fleetStage is all that takes part in a run with several gateways.
type fleetStage struct {
	options FleetOptions
	store   *tempstore.Store
	folder  string // of the gateways
	hotels  []*process
	nodes   []*node
	clock   clock
	found   FleetReport
}

// setUp starts everything, and returns when the gateways have met.
func (s *fleetStage) setUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, meetLimit)
	defer cancel()
	if s.folder, err = os.MkdirTemp("", "recloser-demo-"); err != nil {
		return err
	}
	if err := s.store.Start(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if s.hotels, err = startHotels(ctx, fleetHotels); err != nil {
		return err
	}
	for i := range s.options.Gateways {
		n, err := startNode(i+1, s.folder, s.store, s.hotels)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		if err := n.await(ctx); err != nil {
			return err
		}
	}
	met, err := s.await(ctx, meetLimit, s.allShare)
	switch {
	case err != nil:
		return err
	case !met:
		return fmt.Errorf("demo: the gateways have not met within %s", meetLimit)
	}
	return nil
}

// tearDown ends everything and returns when it is gone.
func (s *fleetStage) tearDown() error {
	var faults []error
	for _, n := range s.nodes {
		faults = append(faults, n.end())
	}
	endHotels(s.hotels)
	return errors.Join(append(faults, os.RemoveAll(s.folder))...)
}

// watch calls failed if something ends by itself while ctx lasts.
func (s *fleetStage) watch(ctx context.Context, failed func(error)) {
	watchHotels(ctx, s.hotels, failed)
	for _, n := range s.nodes {
		go func() {
			select {
			case <-n.Ended():
				failed(n.diedOf())
			case <-ctx.Done():
			}
		}()
	}
	go func() {
		select {
		case err := <-s.store.Unexpected():
			failed(fmt.Errorf("demo: %w", err))
		case <-ctx.Done():
		}
	}()
}

// quiet is the gateway where guests of one hotel are rare.
func (s *fleetStage) quiet() *node { return s.nodes[len(s.nodes)-1] }

// cutOff is the gateway that is cut off from the store.
func (s *fleetStage) cutOff() *node { return s.nodes[1] }

// sendGuests sends guests to every gateway until the script is over, and returns when all
// have left or ctx has ended their visits.
func (s *fleetStage) sendGuests(ctx context.Context) {
	var all sync.WaitGroup
	for i, n := range s.nodes {
		apart := time.Duration(i) * time.Second / fleetScansPerSecond / time.Duration(len(s.nodes))
		all.Go(func() {
			each(ctx, s.clock, apart, s.options.Script.Length, fleetScansPerSecond, func(i int, due time.Duration) {
				hotel := i%fleetHotels + 1
				if n == s.quiet() && hotel == hungTogether && !comesToQuiet(i) {
					return
				}
				all.Go(func() { n.lane.receive(ctx, s.clock, visit{hotel: hotel, start: due}, newGuest(hotel, i)) })
			})
		})
	}
	all.Wait()
}

// comesToQuiet reports whether the guest with that number comes to a quiet entrance.
func comesToQuiet(number int) bool {
	const every = int(quietEvery / time.Second * fleetScansPerSecond / fleetHotels)
	return number/fleetHotels%every == every-1
}

// await looks until done says so, for at most that long. It returns whether it did.
func (s *fleetStage) await(ctx context.Context, limit time.Duration, done func(context.Context) (bool, error)) (bool, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if is, err := done(ctx); is || err != nil {
			return is, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, nil
}

// allShare reports whether all gateways share what they know with all others.
func (s *fleetStage) allShare(ctx context.Context) (bool, error) {
	for _, n := range s.nodes {
		if with, err := n.shares(ctx); err != nil || with != len(s.nodes) {
			return false, err
		}
	}
	return true, nil
}

// allReach reports whether all gateways reach the store. Some seconds may pass before each
// has heard of all others.
func (s *fleetStage) allReach(ctx context.Context) (bool, error) {
	for _, n := range s.nodes {
		if with, err := n.shares(ctx); err != nil || with < 0 {
			return false, err
		}
	}
	return true, nil
}

// allKnow reports whether all gateways know this of a hotel.
func (s *fleetStage) allKnow(hotel int, what func(known) bool) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		for _, n := range s.nodes {
			if k, err := n.look(ctx, hotel); err != nil || !what(k) {
				return false, err
			}
		}
		return true, nil
	}
}

// watchHotels calls failed if a hotel ends while ctx lasts.
func watchHotels(ctx context.Context, hotels []*process, failed func(error)) {
	for _, p := range hotels {
		go func() {
			select {
			case <-p.Ended():
				failed(fmt.Errorf("demo: %s ended by itself: %s", hotelID(p.number), p.LastWords()))
			case <-ctx.Done():
			}
		}()
	}
}

// visitsOf returns what became of a hotel's guests, at one gateway or, if that is nil, at all.
func (s *fleetStage) visitsOf(hotel int, at *node) (all []visit) {
	for _, n := range s.nodes {
		if at == nil || n == at {
			all = append(all, n.lane.visits.list()...)
		}
	}
	return slices.DeleteFunc(all, func(v visit) bool { return v.hotel != hotel })
}

package demo

import (
	"context"
	"time"

	"github.com/recloser-go/recloser"
)

// isCutOff cuts a gateway off from the store.
func (s *fleetStage) isCutOff(ctx context.Context, limit time.Duration) error {
	n := s.cutOff()
	from := s.clock.now()
	n.relay.Cut()
	s.found.cut.from = from
	if err := s.tell(bold, "The network between %s and %s is cut.", n.name, s.store.Kind()); err != nil {
		return err
	}
	noticed, err := s.await(ctx, limit, func(ctx context.Context) (bool, error) {
		with, err := n.shares(ctx)
		return with < 0, err
	})
	if err != nil || !noticed {
		return err
	}
	return s.tell(plain, "%s has noticed, %s later. It keeps to what it heard last; its guests notice nothing.", n.name, tenths(s.clock.now()-from))
}

// isIsolated has an operator isolate a hotel on the gateway that is cut off.
func (s *fleetStage) isIsolated(ctx context.Context, limit time.Duration) error {
	n := s.cutOff()
	if err := n.isolate(ctx, isolated); err != nil {
		return err
	}
	k, err := n.look(ctx, isolated)
	if err != nil {
		return err
	}
	s.found.Act.InForce = k.State == recloser.Isolated.String()
	if err := s.tell(bold, "%s, an operator, isolates %s on %s: cut off by hand, as their database moves. There it is %s at once.", operatorName, hotelID(isolated), n.name, k.State); err != nil {
		return err
	}
	s.found.Act.NotShared, err = s.await(ctx, limit, func(ctx context.Context) (bool, error) {
		k, err := n.look(ctx, isolated)
		return k.Fleet.NotShared, err
	})
	if err != nil || !s.found.Act.NotShared {
		return err
	}
	for _, m := range s.nodes {
		k, err := m.look(ctx, isolated)
		if err != nil {
			return err
		}
		if m != n && k.State == recloser.Isolated.String() {
			s.found.Act.Elsewhere++
		}
	}
	return s.tell(plain, "%s says that this is not yet shared. The others do not know of it.", n.name)
}

// isHealed ends the cut.
func (s *fleetStage) isHealed(ctx context.Context, limit time.Duration) error {
	from := s.clock.now()
	s.cutOff().relay.Heal()
	s.found.cut.until = from
	if err := s.tell(bold, "The network of %s is whole again.", s.cutOff().name); err != nil {
		return err
	}
	is, err := s.await(ctx, limit, s.allKnow(isolated, func(k known) bool {
		return k.State == recloser.Isolated.String() && !k.Fleet.NotShared
	}))
	if err != nil || !is {
		return err
	}
	s.found.Act.SharedS = seconds(s.clock.now() - from)
	return s.tell(plain, "The act is shared, %s later: %s is isolated at all %d gateways.", tenths(s.clock.now()-from), hotelID(isolated), len(s.nodes))
}

// storeDies kills the store.
func (s *fleetStage) storeDies(ctx context.Context, limit time.Duration) error {
	s.store.Kill()
	from := s.clock.now()
	s.found.away.from = from
	if err := s.tell(bold, "%s is killed.", s.store.Kind()); err != nil {
		return err
	}
	noticed, err := s.await(ctx, limit, func(ctx context.Context) (bool, error) {
		for _, n := range s.nodes {
			if with, err := n.shares(ctx); err != nil || with >= 0 {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil || !noticed {
		return err
	}
	return s.tell(plain, "All %d gateways have noticed, %s later. Each looks after itself from now on.", len(s.nodes), tenths(s.clock.now()-from))
}

// storeIsBack starts the store again, and waits until everybody knows all again.
func (s *fleetStage) storeIsBack(ctx context.Context, limit time.Duration) error {
	from := s.clock.now()
	if err := s.store.Start(); err != nil {
		return err
	}
	what := "It has lost everything"
	if s.store.Keeps() {
		what = "It knows what it knew when it was killed"
	}
	if err := s.tell(bold, "%s is started again. %s.", s.store.Kind(), what); err != nil {
		return err
	}
	// None of them had told the others of it.
	hung := s.allKnow(hungAlone, func(k known) bool {
		return k.State != recloser.Closed.String() && k.Fleet.State != recloser.Closed.String()
	})
	act := s.allKnow(isolated, func(k known) bool {
		return k.State == recloser.Isolated.String() && k.Fleet.State == recloser.Isolated.String()
	})
	is, err := s.await(ctx, limit, func(ctx context.Context) (bool, error) {
		if is, err := s.allReach(ctx); err != nil || !is {
			return false, err
		}
		if is, err := hung(ctx); err != nil || !is {
			return false, err
		}
		return act(ctx)
	})
	if err != nil || !is {
		return err
	}
	s.found.away.until = s.clock.now()
	s.found.SharedAgainS = seconds(s.clock.now() - from)
	return s.tell(plain, "All %d gateways share again, %s later: %s is cut off and %s isolated for all, and %s knows it.",
		len(s.nodes), tenths(s.clock.now()-from), hotelID(hungAlone), hotelID(isolated), s.store.Kind())
}

// isReleased has the operator take the act back, on another gateway.
func (s *fleetStage) isReleased(ctx context.Context, limit time.Duration) error {
	n, from := s.nodes[0], s.clock.now()
	if err := n.release(ctx, isolated); err != nil {
		return err
	}
	if err := s.tell(bold, "%s releases %s, on %s.", operatorName, hotelID(isolated), n.name); err != nil {
		return err
	}
	is, err := s.await(ctx, limit, s.allKnow(isolated, func(k known) bool { return k.State == recloser.Closed.String() }))
	if err != nil || !is {
		return err
	}
	s.found.Act.ReleasedS = seconds(s.clock.now() - from)
	return s.tell(plain, "All %d gateways let its guests in again, %s later.", len(s.nodes), tenths(s.clock.now()-from))
}

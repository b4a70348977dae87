package demo

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/recloser-go/recloser"
)

// act is something that befalls the fleet.
type act struct {
	from time.Duration
	play func(ctx context.Context, limit time.Duration) error
}

func (s *fleetStage) acts() []act {
	script := s.options.Script
	return []act{
		{script.Hang, s.hangs(&s.found.Together)},
		{script.Back, s.comesBack(&s.found.Together)},
		{script.Cut, s.isCutOff},
		{script.Isolate, s.isIsolated},
		{script.Heal, s.isHealed},
		{script.Kill, s.storeDies},
		{script.HangAgain, s.hangs(&s.found.Alone)},
		{script.Restart, s.storeIsBack},
		{script.BackAgain, s.comesBack(&s.found.Alone)},
		{script.Release, s.isReleased},
	}
}

// play sends the guests and plays the acts.
func (s *fleetStage) play(ctx context.Context) error {
	s.found = newFleetReport(s.store.Kind(), s.nodes)
	s.clock = clock{time.Now()}
	visiting, endVisits := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.sendGuests(visiting)
	}()
	defer func() {
		endVisits()
		<-left
	}()
	acts := append(s.acts(), act{from: s.options.Script.Length})
	for i, a := range acts[:len(acts)-1] {
		if a.from >= s.options.Script.Length {
			break
		}
		if !s.clock.wait(ctx, a.from) {
			return ctx.Err()
		}
		limit := min(acts[i+1].from, s.options.Script.Length) - s.clock.now()
		if err := a.play(ctx, limit); err != nil {
			return fmt.Errorf("demo: after %s: %w", tenths(s.clock.now()), err)
		}
	}
	select {
	case <-left:
	case <-time.After(s.options.Script.Length + leave - s.clock.now()):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.found.closed = s.clock.now()
	return nil
}

// tell says what happens now.
func (s *fleetStage) tell(l look, format string, values ...any) error {
	mark := line{{fmt.Sprintf("%6.1f s  ", s.clock.now().Seconds()), dim}}
	return s.options.write(paragraph(mark, fmt.Sprintf(format, values...), l, s.options.width()))
}

// hangs has a hotel hang, and waits until all gateways have cut it off.
func (s *fleetStage) hangs(h *FleetHang) func(context.Context, time.Duration) error {
	return func(ctx context.Context, limit time.Duration) error {
		h.begun, h.from = true, s.clock.now()
		if err := s.hotels[h.hotel-1].fall(Hang, NoFault); err != nil {
			return err
		}
		if err := s.tell(bold, "%s hangs: its process is stopped.", h.Hotel); err != nil {
			return err
		}
		all, err := s.await(ctx, limit, func(ctx context.Context) (bool, error) {
			return s.each(ctx, h.hotel, h.Gateways, func(n *node, g *FleetGateway, k known) error {
				if g.cut != 0 || k.State == recloser.Closed.String() {
					return nil
				}
				g.cut = s.clock.of(k.Since)
				g.CutOffS = seconds(g.cut - h.from)
				g.Caught = caught(s.visitsOf(h.hotel, n), h.from, g.cut)
				switch {
				case h.StoreAway:
					return s.tell(plain, "%s cuts it off by itself after %s; caught there: %s.", n.name, tenths(g.cut-h.from), someGuests(g.Caught))
				case g.Caught == 0:
					return s.tell(plain, "%s cuts it off after %s, though no guest was caught there: it was told.", n.name, tenths(g.cut-h.from))
				default:
					return s.tell(plain, "%s cuts it off after %s; caught there: %s.", n.name, tenths(g.cut-h.from), someGuests(g.Caught))
				}
			}, func(g *FleetGateway) bool { return g.cut != 0 })
		})
		if err != nil || !all {
			return err
		}
		by := ""
		said, err := s.await(ctx, limit/4, func(ctx context.Context) (bool, error) {
			k, err := s.quiet().look(ctx, h.hotel)
			by = k.Fleet.SeenBy
			return by != "", err
		})
		if err != nil || !said {
			return err
		}
		return s.tell(plain, "The panel of %s says: seen by %s.", s.quiet().name, by)
	}
}

// comesBack has a hotel go on, and waits until all gateways let its guests in.
func (s *fleetStage) comesBack(h *FleetHang) func(context.Context, time.Duration) error {
	return func(ctx context.Context, limit time.Duration) error {
		h.until = s.clock.now()
		if err := s.hotels[h.hotel-1].fall(NoFault, Hang); err != nil {
			return err
		}
		turned := 0
		for i, n := range s.nodes {
			h.Gateways[i].count(s.visitsOf(h.hotel, n), h.until)
			turned += h.Gateways[i].Refused
		}
		if err := s.tell(bold, "%s is back. Turned away at once: %s. Waited over 1 s: %s.", h.Hotel, someGuests(turned), someGuests(h.waited())); err != nil {
			return err
		}
		all, err := s.await(ctx, limit, func(ctx context.Context) (bool, error) {
			return s.each(ctx, h.hotel, h.Gateways, func(_ *node, g *FleetGateway, k known) error {
				if g.closed == 0 && k.State == recloser.Closed.String() {
					g.closed = max(s.clock.of(k.Since), h.until) // it may not have cut it off at all
					g.ServedAgainS = seconds(g.closed - h.until)
				}
				return nil
			}, func(g *FleetGateway) bool { return g.closed != 0 })
		})
		if err != nil || !all {
			return err
		}
		last := time.Duration(0)
		for _, g := range h.Gateways {
			last = max(last, g.closed-h.until)
		}
		if _, _, cut := h.cutOffs(); !cut {
			return s.tell(plain, "All %d gateways let its guests in, %s later.", len(s.nodes), tenths(last))
		}
		h.Trials, h.TrialsAtOnce = trials(s.visitsOf(h.hotel, nil), h)
		return s.tell(plain, "All %d gateways let its guests in again, %s later. Until then %s tried it, %s.",
			len(s.nodes), tenths(last), someGuests(h.Trials), atOnce(h.TrialsAtOnce))
	}
}

// someGuests counts guests.
func someGuests(n int) string {
	if n == 1 {
		return "1 guest"
	}
	return count(n) + " guests"
}

func atOnce(n int) string {
	if n <= 1 {
		return "one at a time"
	}
	return fmt.Sprintf("up to %d at once", n)
}

// each looks at a hotel through all gateways, and reports whether each of them is done.
func (s *fleetStage) each(ctx context.Context, hotel int, of []FleetGateway, note func(*node, *FleetGateway, known) error, done func(*FleetGateway) bool) (bool, error) {
	all := true
	for i, n := range s.nodes {
		k, err := n.look(ctx, hotel)
		if err == nil {
			err = note(n, &of[i], k)
		}
		if err != nil {
			return false, err
		}
		all = all && done(&of[i])
	}
	return all, nil
}

// caught counts the guests who met a hotel that hung, before it was cut off.
func caught(guests []visit, from, cut time.Duration) int {
	n := 0
	for _, v := range guests {
		if v.sent < cut && (v.result == waiting || v.end > from) {
			n++
		}
	}
	return n
}

// trials counts the guests who were let through to a hotel that was cut off at all
// gateways, and how many of them were under way at once.
func trials(guests []visit, h *FleetHang) (count, atOnce int) {
	from, until := time.Duration(0), time.Duration(math.MaxInt64)
	for _, g := range h.Gateways {
		from, until = max(from, g.cut), min(until, g.closed)
	}
	var under []visit
	for _, v := range guests {
		if v.sent > from && v.sent < until && v.result != refused {
			under = append(under, v)
		}
	}
	for _, v := range under {
		n := 0
		for _, w := range under {
			if w.sent <= v.sent && (w.result == waiting || w.end > v.sent) {
				n++
			}
		}
		atOnce = max(atOnce, n)
	}
	return len(under), atOnce
}

package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// Look does what is due now. Call it after dependencies came or went, so that
// nobody has to wait for the next second. It returns when to look again.
func (r *Runner) Look(ctx context.Context) (again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.look(ctx)
}

// Change runs a change of the windows in the storage while nobody looks, and looks
// if it succeeded. Else what a Look has read before the change, and saves because
// an operator released something, would take the change back.
func (r *Runner) Change(ctx context.Context, change func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	r.look(ctx)
	return nil
}

func (r *Runner) look(ctx context.Context) (again time.Duration) {
	if windows, err := r.o.Windows(ctx); err == nil {
		r.windows = windows
	} else {
		r.o.Log.ErrorContext(ctx, "maintenance: windows cannot be read: going on with those that are known", "fault", err)
	}
	now := r.o.Clock.Now()
	again = lookIdle
	before := r.active
	r.active = map[string]active{}
	for _, w := range r.windows {
		a, ok := lasting(w, now)
		if ok {
			r.active[w.ID] = a
			again = min(again, lookEvery)
		}
		if change := a.at.From.Sub(now); change > 0 {
			again = min(again, change)
		} else if change := a.at.To.Sub(now); change > 0 {
			again = min(again, change)
		}
	}
	r.tell(before, now)

	targets := r.o.Breakers.Targets()
	inForce := map[string]active{}
	for _, t := range targets {
		of := r.of(t)
		if len(of) > 0 {
			inForce[t.ID] = of[0]
		}
		r.settle(ctx, t.ID, of, now)
	}
	r.inForce.Store(&inForce)
	r.forget(targets)
	r.started = true
	return again
}

// lasting returns the occurrence that lasts at now, or else the next one and
// false.
func lasting(w Window, now time.Time) (active, bool) {
	next := w.Occurrences(now, 2)
	if len(next) == 0 {
		return active{}, false
	}
	a := active{w, next[0], next[0].To}
	if last := next[len(next)-1]; !last.From.After(a.until) {
		a.until = last.To
	}
	return a, a.at.lasts(now)
}

// tell says what has begun and what has ended since the Look before.
func (r *Runner) tell(before map[string]active, now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(before)) {
		b := before[id]
		if a, still := r.active[id]; still && a.at.From.Equal(b.at.From) {
			continue
		}
		text := fmt.Sprintf("maintenance %s has ended", b.Name)
		if now.Before(b.at.To) {
			text += " early"
		}
		r.o.Tell(Notice{At: now, Window: b.Window, Text: text})
	}
	for _, id := range slices.Sorted(maps.Keys(r.active)) {
		a := r.active[id]
		if b, was := before[id]; !r.started || was && a.at.From.Equal(b.at.From) {
			continue
		}
		text := fmt.Sprintf("maintenance %s has begun, until %s: %s", a.Name, a.at.To.Format(time.RFC3339), a.Reason)
		r.o.Tell(Notice{At: now, Window: a.Window, Text: text})
	}
}

// of returns the windows in force for a dependency: first those that cut off,
// first the one that ends last.
func (r *Runner) of(t Target) (of []active) {
	for _, a := range r.active {
		if a.Covers(t) {
			of = append(of, a)
		}
	}
	slices.SortFunc(of, func(a, b active) int {
		return cmp.Or(cmp.Compare(a.Effect, b.Effect), b.until.Compare(a.until), cmp.Compare(a.ID, b.ID))
	})
	return of
}

// settle brings a dependency's override in line with the windows in force for it.
func (r *Runner) settle(ctx context.Context, id string, of []active, now time.Time) {
	set := r.o.Breakers.Override(id)
	if !r.started && set != nil {
		for _, a := range of { // by us, before a restart
			if set.By == a.by() && set.State == recloser.Isolated {
				r.mine[id] = *set
			}
		}
	}
	mine, was := r.mine[id]
	ours := was && set != nil && set.By == mine.By && set.State == recloser.Isolated
	if set == nil {
		former, known := mine, was
		if !known {
			former, known = r.theirs[id]
		}
		taken := known && (former.Until.IsZero() || now.Before(former.Until)) // else it had reached its end
		if taken && !r.release(ctx, id, of, now) {
			return // the next Look tries again
		}
	}
	delete(r.mine, id)
	delete(r.theirs, id)
	switch {
	case ours:
		r.mine[id] = mine
	case set != nil:
		if len(of) > 0 { // what he takes back before is nothing to us
			r.theirs[id] = *set
		}
		return
	}

	a, wanted := first(of, id)
	switch {
	case wanted && (!ours || mine.By != a.by() || !mine.Until.Equal(a.until)):
		if err := r.o.Breakers.Isolate(id, a.by(), a.Reason, a.until); err != nil {
			r.o.Log.ErrorContext(ctx, "maintenance: a dependency was not isolated", "dependency", id, "window", a.ID, "fault", err)
			return
		}
		r.mine[id] = recloser.Override{State: recloser.Isolated, By: a.by(), Why: a.Reason, Since: now, Until: a.until}
	case !wanted && ours && now.Before(mine.Until):
		delete(r.mine, id)
		r.o.Breakers.Release(id, mine.By, "the maintenance was ended, or is no longer for this dependency")
	}
}

// first returns the window that is to cut the dependency off.
func first(of []active, id string) (active, bool) {
	for _, a := range of {
		if a.Effect == CutOff && !a.released(id) {
			return a, true
		}
	}
	return active{}, false
}

// released reports whether an operator has let the dependency pass again.
func (a *active) released(id string) bool {
	at, ok := a.Released[id]
	return ok && !at.Before(a.at.From)
}

// release notes that an operator has let a dependency pass again, in all windows
// that would cut it off, and reports whether that was kept.
func (r *Runner) release(ctx context.Context, id string, of []active, now time.Time) bool {
	for i := range of {
		a := &of[i]
		if a.Effect != CutOff || a.released(id) {
			continue
		}
		released := map[string]time.Time{id: now}
		for other, at := range a.Released {
			if other != id && !at.Before(a.at.From) {
				released[other] = at
			}
		}
		a.Released = released
		r.active[a.ID] = *a
		if err := r.o.Save(ctx, a.Window); err != nil {
			r.o.Log.ErrorContext(ctx, "maintenance: that an operator released a dependency was not kept", "dependency", id, "window", a.ID, "fault", err)
			return false
		}
	}
	return true
}

// forget drops what is known of dependencies that are gone.
func (r *Runner) forget(targets []Target) {
	there := map[string]bool{}
	for _, t := range targets {
		there[t.ID] = true
	}
	gone := func(id string, _ recloser.Override) bool { return !there[id] }
	maps.DeleteFunc(r.mine, gone)
	maps.DeleteFunc(r.theirs, gone)
}

package recloser

// Update puts other settings in force, all at once; what is wrong with cfg is an
// error, and changes nothing. The state, the window, the step, the listeners and
// overrides stay, and so do Name and Clock, whatever cfg says. An open time or a
// lease that runs keeps its end. A running call is judged by the SlowCall and
// CancelOnTrip under which it was admitted. What the window holds is judged by
// the new limits with the next call that ends.
func (b *Breaker) Update(cfg Config) error {
	cfg.Clock = b.cfg().Clock
	if err := cfg.Validate(); err != nil {
		return err
	}
	b.update(&rules{cfg.WithDefaults(), b.rules().base})
	return nil
}

func (b *Breaker) update(r *rules) {
	now := b.now()
	b.act(now, func(now int64) {
		b.inForce.Store(r)
		b.step = r.inReach(b.step)
		p := b.cur.Load()
		if p.state != Closed {
			return
		}
		b.fitRings(p, now)
		p.ruledAt = now // what is due by the new rules is due from now on
		p.window.rollAt = max(now, p.window.starts[p.window.head]+r.slice())
		if ramp := p.ramp.Load(); ramp != nil {
			ramp.limit, ramp.slowAfter = max(ramp.limit, r.cfg.Trials), b.rampSlowAfter()
			if r.cfg.Ramp <= 0 {
				p.ramp.Store(nil)
			}
		}
		b.setBusy(p, now)
	})
}

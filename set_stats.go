package recloser

// Stats returns the sum of what the set's breakers have counted, those too that it has
// dropped: no count goes down. A call is missing if its breaker was dropped between Get and
// the call, see Get. Filled in are what runs (InFlight, Overdue, Suspects,
// Trials), LastGood, and the calls, refusals, transitions and latencies since the start.
// All else is of one breaker alone.
func (s *Set) Stats() Stats {
	s.mu.Lock()
	var sum Stats
	sum.beginTotals()
	sum.Add(s.gone)
	all := make([]*Breaker, 0, len(s.breakers)+1)
	for _, b := range s.each() {
		all = append(all, b)
	}
	s.mu.Unlock()
	for _, b := range all { // one that is dropped meanwhile is counted here, as it is not in gone
		sum.add(b)
	}
	return sum
}

// keep adds what b, which is dropped, has counted. A call may have begun just now: it
// ends where nobody reads any more, and must not run in the sum for ever.
func (s *Set) keep(b *Breaker) {
	if s.gone.Refused == nil {
		s.gone.beginTotals()
	}
	s.gone.add(b)
	s.gone.InFlight, s.gone.Overdue, s.gone.Suspects, s.gone.Trials = 0, 0, 0, 0
}

// add adds what b has counted, as Add does with Stats.
func (s *Stats) add(b *Breaker) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Add(b.read(b.settle(now)))
	b.addTotals(s)
}

// Add adds what another breaker, or a Set, has counted: what runs (InFlight, Overdue,
// Suspects, Trials), and the calls, refusals, transitions and latencies since the start. LastGood
// becomes the later one. All else stays that of s. It changes the maps and slices of s,
// which copies of s share.
func (s *Stats) Add(more Stats) {
	if more.LastGood.After(s.LastGood) {
		s.LastGood = more.LastGood
	}
	s.InFlight += more.InFlight
	s.Overdue += more.Overdue
	s.Suspects += more.Suspects
	s.Trials += more.Trials
	s.Success += more.Success
	s.Failed += more.Failed
	s.Slow += more.Slow
	s.Ignored += more.Ignored
	s.Late += more.Late
	if more.Refused == nil { // of Brief
		return
	}
	if s.Refused == nil {
		s.beginTotals()
	}
	for reason, n := range more.Refused {
		s.Refused[reason] += n
	}
	for key, n := range more.Transitions {
		s.Transitions[key] += n
	}
	for i, n := range more.Latency.Counts {
		s.Latency.Counts[i] += n
	}
	s.Latency.Sum += more.Latency.Sum
}

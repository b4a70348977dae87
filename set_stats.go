package recloser

import "maps"

// Stats returns the sum of what the set's breakers have counted, those too that it has
// dropped: no count goes down. A call is missing if its breaker was dropped between Get and
// the call, see Get. Filled in are what runs (InFlight, Overdue, Suspects,
// Trials), LastGood, and the calls, refusals, transitions and latencies since the start.
// All else is of one breaker alone.
func (s *Set) Stats() Stats {
	s.mu.Lock()
	sum := s.gone
	if sum.Refused == nil {
		sum.beginTotals()
	} else {
		sum.Refused, sum.Transitions = maps.Clone(sum.Refused), maps.Clone(sum.Transitions)
		sum.Latency = newHistogram()
		sum.Latency.Sum = s.gone.Latency.Sum
		copy(sum.Latency.Counts, s.gone.Latency.Counts)
	}
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

// add adds what b has counted.
func (s *Stats) add(b *Breaker) {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.read(b.settle(now))
	if one.LastGood.After(s.LastGood) {
		s.LastGood = one.LastGood
	}
	s.InFlight += one.InFlight
	s.Overdue += one.Overdue
	s.Suspects += one.Suspects
	s.Trials += one.Trials
	s.Success += one.Success
	s.Failed += one.Failed
	s.Slow += one.Slow
	s.Ignored += one.Ignored
	s.Late += one.Late
	b.addTotals(s)
}

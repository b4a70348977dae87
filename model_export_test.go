package recloser

// Crowd has b believe that processors get into each other's way: for tests of the
// public API.
func Crowd(b *Breaker) {
	b.cur.Load().ring().lost.Store(crowded)
}

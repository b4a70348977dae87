// Package recloser is a circuit breaker: it stops calling a dependency once it
// is down or slow, calls it again once it has recovered, and tells people both
// times.
//
// Make one [Breaker] for each dependency with [New], and wrap every call in
// [Breaker.Do], or in [Breaker.Allow] where a function does not fit. A [Set]
// makes a breaker for each key; package httpbreaker does so for each host of an
// HTTP client.
//
// A breaker is closed as long as calls pass. It trips, and is open, once the
// share of bad calls reaches [Config].FailureRate or so many in a row were bad
// that it is no accident. A call is bad if it fails, or if it is not answered
// within SlowCall; such a call counts while it still runs, so a dependency that
// hangs is cut off before its first caller times out. After the open time a
// breaker is half-open: a few real calls pass as trials. Good ones reclose it,
// slowly at first; a bad one opens it for longer.
//
// Use a breaker around calls to something that can be down while you are not: a
// service, a partner's API, a database. It is no rate limit, which protects you
// from your callers, and no replacement for a deadline on each call. Retries
// belong inside of it, never around it.
package recloser

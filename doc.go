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
// # When to use it
//
// Put a breaker around calls to something that can be down or slow while you are
// not: a service, a partner's API, a database on another machine. It pays where
// callers have something better to do than to wait for a call that will fail: take
// another dependency, an older answer, or say at once that it is not possible now.
//
// # When not
//
//   - Around what cannot fail by itself: a function, a file, memory.
//   - Where every call is worth trying, even if nine of ten fail: a breaker takes
//     the tenth too. docs/guides/choosing-thresholds.md says where its limit must lie.
//   - Against calls that now and then hang: a deadline and a bulkhead bound those,
//     see package guard.
//   - As a rate limit. That protects you from your callers, a breaker protects you
//     from your dependencies.
//   - Around retries of something else. Retries belong inside of a breaker.
//   - For queues and batch jobs that may simply wait: stop reading instead.
//
// To learn how such a thing works, docs/how-a-breaker-works.md builds one by hand.
// Settings are tested on virtual time with [NewManualClock], or by people who do
// not write Go with scenario files: docs/SCENARIOS.md.
package recloser

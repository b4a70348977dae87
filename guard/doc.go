// Package guard is the one right stack around a call to a dependency, with its
// order fixed so that it cannot be got wrong:
//
//	fallback( timeout ( rate limit ( bulkhead ( breaker ( retry ( attempt timeout ( call )))))))
//
// The breaker stands around the retries: a call with all its attempts is let
// through once and has one outcome, so retries neither trip a breaker sooner nor
// knock on an open one. The rate limit and the bulkhead stand around the
// breaker, and what they refuse says nothing about the dependency: it never
// counts as a failure and is never retried. Of everything but the breaker, only
// what is set in [Config] is on; the fallback is a matter of each call, see [DoOr].
//
// Use a guard where a breaker alone is not enough: calls that are worth a second
// attempt, a dependency that must not take all of your goroutines when it hangs,
// a contract about calls per second. Where you need none of this, use
// [recloser.Breaker] alone. Do not put a guard around a guard: each retries, and
// three attempts become nine. A call that goes on after a function has returned,
// such as a stream or a body to read, is what [Guard.Allow] is for, and for HTTP
// httpbreaker.GuardedTransport. There is no hedging: it multiplies the load on a
// dependency exactly when that is slow.
package guard

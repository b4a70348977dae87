// Package scenario reads and runs scenario files: what happens to a dependency,
// second by second, and what the breaker in front of it must do then. They run on
// virtual time, through the same engine and guard that run in production, so an
// hour of traffic takes seconds and the same file always gives the same result.
//
// It is what `recloser test` does, for programs that want to do it themselves.
// The language of the files is described in docs/SCENARIOS.md. In Go tests,
// testing/synctest with the breaker itself may be all you need.
package scenario

// Package fleet holds the benchmarks of a fleet on Redis, which print Markdown and take 4
// minutes:
//
//	make bench-fleet
//
// They start a redis-server of their own. The first has ten nodes that call one hotel, by
// gobreaker's distributed breaker and by a fleet, on the same server: how many calls get
// through, how many of ten failures at the same moment are known, what a call costs, and
// what callers meet while the server hangs or was killed. The second has fifty nodes with a
// hundred dependencies each: how long it takes from the failure that decides until all
// refuse, and what the server does meanwhile, with all well and with some that fail. The
// load of the machine shows in all of it; requests a second hardly depend on it.
package fleet

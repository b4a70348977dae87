// Package fleet shares what breakers know between the processes that call the same
// dependencies, so that one node's failed calls protect all nodes. The store in the
// middle is never on the path of a call: with a store that hangs, admission costs what
// it costs without one.
//
// A Node takes part for one process. It tells the others how many calls failed here
// (evidence), and nodes that see calls fail add up what all have seen: if it is enough by
// the Rule, one of them writes a Record that opens the breaker of all. Once the open
// time is over, nodes that had to refuse callers take leases for trials, as many as
// Config.Trials says for the whole fleet; when as many were good, the record closes. An
// operator's act is a record as well.
//
// What a record says is put into each breaker by Breaker.Follow, and the breaker's own
// rules stay in force: the strictest of operator, fleet and own rules decides.
//
// # What holds when something fails
//
// The store slow, away or hung: calls go on. Nodes keep to what they heard last until the
// open time and 30 s are over, then each decides for itself; trials then come at
// random times, together about one a second. A node that is cut off does the same.
//
// The store emptied, or back in time: a breaker that was open is opened again, above
// both versions. What was closed is never written against what the store says. A hold
// that was lost is not restored.
//
// A node that dies with a lease: its trial is bad when the lease runs out. One that leaves
// gives it back, unless its trial runs.
//
// One node's own network: a node counts for so few failures that others must have seen
// some too; if calls to half of its dependencies fail, it counts for nothing. If that is
// so with all nodes, nobody decides for the others: see Status.Uplink.
//
// Settings that change node by node: those with an older revision follow, and do not
// decide.
//
// What a call cannot have: the first caller after an open time is refused, as leases are
// taken for the next one; and breakers that an operator sets by Breaker.Isolate, not by
// Node.Isolate, are set on that node alone.
package fleet

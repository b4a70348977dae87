// Package fleet shares what breakers know between the processes that call the same
// dependencies, so that one node's failed calls protect all nodes. The store in the
// middle is never on the path of a call: with a store that hangs, admission costs what
// it costs without one.
package fleet

// Package pgstore is a [fleet.Store] on PostgreSQL 13 and later.
//
// A fleet has a schema of its own in the database, "recloser" by default, which the first
// node makes: its user needs CREATE on the database, or a schema that it owns. The tables:
//
//	about      one line: the version of the tables, and which of their lives this is
//	documents  by key; the version that is, and the transaction that put it
//	rows       by key and node; unlogged, so saying one writes no log and waits for no disk
//	leases     of a document's version, with their results
//	roles      who holds each
//
// A method is one batch of statements: one way there and back, and one transaction that
// the server ends by itself, so a node that stops in the middle of anything holds no lock.
// Times are the server's (clock_timestamp). A change is told by NOTIFY and looked for each
// [PollEvery], so behind a pooler that cannot do LISTEN for a client, connect to the server itself.
//
// A node holds one connection for Watch and, while it has something to say, up to four
// others (pool_max_conns in the URL); usually one.
package pgstore

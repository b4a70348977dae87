// Package redisstore is a [fleet.Store] on Redis 6.2 and later, or Valkey: one server,
// one that Sentinel watches over, or a cluster.
//
// All keys of a fleet begin with its prefix as a hash tag, "{recloser}:", so that they
// are in one slot of a cluster and each script sees all that it needs. What a fleet does
// is little; fleets of other prefixes go to other slots.
//
//	{p}:docs         hash: the documents by key
//	{p}:log          stream: which documents changed, the last thousand or so
//	{p}:ends         sorted set: the documents that vanish, by when
//	{p}:trials:KEY   hash: the leases of a document's version, and their results
//	{p}:rows:KEY     hash: the rows under a key by node
//	{p}:role:ROLE    string: who holds the role
//	{p}:changed      channel: the key of each document that changed
//
// A user of its own needs, besides the keys and the channel:
//
//	ACL SETUSER recloser on >PASSWORD ~{recloser}:* &{recloser}:* +@read +@write
//	    +@scripting +@connection +time +publish +subscribe +unsubscribe
//
// The server must not evict (maxmemory-policy noeviction), as what it evicts is what
// the fleet decided; a fleet needs a few megabytes.
package redisstore

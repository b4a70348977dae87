package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// troubles are what a server or the way to it can suffer from: a part of the error's
// text, what it means, and what to do next. The first that fits is the one.
var troubles = []struct{ sign, what, next string }{
	{"WRONGPASS", "the user or password is wrong", "correct it; " + escapes},
	{"NOAUTH", "it asks for a password", "give one, as redis://user:password@host"},
	{"NOPERM", "the user may not do what a store needs", "widen its ACL as the documentation of redisstore says"},
	{"READONLY", "it is a replica, which can only be read", "name its primary, or Sentinels with ?master=NAME, which find it"},
	{"OOM", "it is out of memory", "raise its maxmemory, or free some"},
	{"MISCONF", "it takes no writes, as it cannot write its snapshot to disk", "see its log, and free disk"},
	{"NOREPLICAS", "it takes no writes, as it has too few replicas (min-replicas-to-write)", "bring them back, or lower that number"},
	{"LOADING", "it is still reading its data from disk", "wait"},
	{"CLUSTERDOWN", "the cluster does not serve this part of the keys", "see redis-cli --cluster check"},
	{"MASTERDOWN", "it is a replica that has lost its primary", "see its log"},
	{"MOVED", "it is of a cluster", "add ?cluster=true"},
	{"CROSSSLOT", "it is of a cluster", "add ?cluster=true"},
	{"cluster support disabled", "it is no cluster", "name one address only, without ?cluster=true"},
	{"WRONGTYPE", "another program uses keys with this prefix", "choose another prefix"},
	{"DB index", "it has no such database", "name one that it has, as /0"},
	{"max number of clients", "it has as many clients as it takes", "raise its maxclients, or find who keeps so many"},
	{"BUSY ", "somebody's script does not end there", "end it with SCRIPT KILL"},
	{"unknown command", "it does not know a command that a store needs", "use Redis 6.2 or later, or Valkey, with all commands allowed"},
	{"redis: nil", "the Sentinels know no such master", "name one that they watch over: SENTINEL masters"},
	{"connection refused", "nobody listens there", "start the server, or correct the address"},
	{"no such host", "its name is not known", "correct the address, or see DNS"},
	{"certificate", "its certificate is not trusted", "give the authority that signed it"},
	{"EOF", ended, whyEnded},
	{"connection reset", ended, whyEnded},
	{"broken pipe", ended, whyEnded},
}

const (
	ended    = "it ended the connection"
	whyEnded = "see its log: it may just have stopped, have too many clients (maxclients), or take TLS alone (rediss://)"
)

// explain says of an error where it comes from, what it means and what to do next.
func (s *Store) explain(err error) error {
	what, next := "it cannot be used", "see its log"
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		what = fmt.Sprintf("no answer within %v", s.opts.Timeout)
		next = "it hangs or has too much to do, or the network between is cut"
		if s.opts.TLS != nil {
			next += ", or it does not speak TLS, and redis:// is right instead of rediss://"
		}
	}
	for _, t := range troubles {
		if strings.Contains(err.Error(), t.sign) {
			what, next = t.what, t.next
			break
		}
	}
	return fmt.Errorf("redisstore: %s: %s: %s (%w)", s.opts.where(), what, next, err)
}

// where says which server it is, for people.
func (o Options) where() string {
	addrs := strings.Join(o.Addrs, ", ")
	switch {
	case o.Master != "":
		return fmt.Sprintf("redis %q of the Sentinels at %s", o.Master, addrs)
	case o.Cluster || len(o.Addrs) > 1:
		return "the redis cluster at " + addrs
	}
	return "redis at " + addrs
}

package pgstore

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A server that hangs must not hold what waits for it, and pgx gives it 15 seconds: for an
// answer to a request to cancel, on a connection of its own, and then for the connection's
// orderly end. Until both are over, the connection counts as one of the pool's, so four
// timeouts would make a store unusable, and Close would wait as well. Neither is of use to us:
// the server ends by itself what takes too long (statement_timeout).

// socket is a connection that does not wait for its end.
type socket struct{ net.Conn }

// SetDeadline closes the connection if there is time left. pgx sets a deadline that is
// over already in order to interrupt; one to come only to wait for an orderly end.
func (s socket) SetDeadline(t time.Time) error {
	if time.Until(t) > 0 {
		return s.Close()
	}
	return s.Conn.SetDeadline(t)
}

// RemoteAddr is asked for only in order to send a request to cancel there.
func (socket) RemoteAddr() net.Addr { return nowhere{} }

type nowhere struct{}

func (nowhere) Network() string { return "nowhere" }
func (nowhere) String() string  { return "nowhere" }

var errNowhere = errors.New("pgstore: requests to cancel are not sent")

func dialer(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if network == (nowhere{}).Network() {
			return nil, errNowhere
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return socket{c}, nil
	}
}

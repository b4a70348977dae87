package pgstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/recloser-go/recloser/fleet"
)

// Codes of the server's errors, which it calls SQLSTATE.
const (
	undefinedTable    = "42P01"
	invalidSchema     = "3F000"
	invalidPassword   = "28P01"
	invalidAuth       = "28000"
	invalidCatalog    = "3D000"
	noPrivilege       = "42501"
	tooManyConns      = "53300"
	readOnly          = "25006"
	cannotConnectNow  = "57P03"
	protocolViolation = "08P01"
	adminShutdown     = "57P01"
	crashShutdown     = "57P02"
	queryCanceled     = "57014"
)

// errEmptied is returned instead of no rows where one must be.
var errEmptied = errors.New("pgstore: the table about is empty")

// isGone reports whether the tables are not there any more; nothing was done then.
func isGone(err error) bool {
	return errors.Is(err, errEmptied) || hasCode(err, undefinedTable) || hasCode(err, invalidSchema)
}

// isLost reports whether the connection is gone, by the server's word or without one.
func isLost(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == adminShutdown || e.Code == crashShutdown
	}
	return err != nil
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}

// explain says what an error of the server or of the way to it means. ctx is that of
// the caller, who knows it.
func (s *Store) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case s.life.Err() != nil:
		return fleet.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNewer), errors.Is(err, fleet.ErrResync):
		return err
	}
	where := Mask(s.opts.URL)
	if hint := s.hint(err); hint != "" {
		return fmt.Errorf("pgstore: %s: %s: %w", where, hint, err)
	}
	return fmt.Errorf("pgstore: %s: %w", where, err)
}

func (s *Store) hint(err error) string {
	config := s.pool.Config().ConnConfig
	user, database, schema := config.User, config.Database, quoted(s.opts.Schema)
	e, said := errors.AsType[*pgconn.PgError](err)
	if !said {
		return hintOfNetwork(err)
	}
	switch e.Code {
	case queryCanceled:
		return noAnswer
	case invalidPassword:
		return fmt.Sprintf("the server does not take the password of user %q", user)
	case invalidAuth:
		return fmt.Sprintf("the server does not let user %q in; see its pg_hba.conf", user)
	case invalidCatalog:
		return fmt.Sprintf("create the database, CREATE DATABASE %s OWNER %s, or name another in the URL", quoted(database), quoted(user))
	case noPrivilege:
		return fmt.Sprintf("user %q may not make or use the tables: CREATE SCHEMA %s AUTHORIZATION %s, as an administrator of the database, is enough",
			user, schema, quoted(user))
	case undefinedTable:
		return fmt.Sprintf("some of the tables are gone and some are left: DROP SCHEMA %s CASCADE, and they are made again", schema)
	case tooManyConns:
		return "the server has no connection left; raise max_connections, each node needs two to five"
	case readOnly:
		return "the server is a replica; name all servers in the URL, with target_session_attrs=read-write"
	case cannotConnectNow:
		return "the server is starting or stopping"
	case protocolViolation:
		return "connect to the server itself and not to a pooler that shares its connections"
	}
	return ""
}

const noAnswer = "no answer in time"

// hintOfNetwork is for what was not said by the server.
func hintOfNetwork(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) {
		return noAnswer
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not to be trusted; name the file of who issued it in the URL, as sslrootcert"
	}
	_, noName := errors.AsType[*net.DNSError](err)
	if e, ok := errors.AsType[*net.OpError](err); noName || ok && e.Op == "dial" {
		return "no connection; is the server running, and are host and port right?"
	}
	return ""
}

// orEmptied turns the absence of the one row of about into errEmptied.
func orEmptied(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return errEmptied
	}
	return err
}

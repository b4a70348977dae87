package pgstore

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options say where the database is and how it is used.
type Options struct {
	// URL of the database: postgres://user:password@host:5432/database. In a user or
	// password, %40 stands for @, %2F for /, %23 for # and %25 for %. Parameters are those
	// of libpq, as sslmode=verify-full, several hosts with target_session_attrs=read-write,
	// or host=/run/postgresql for a socket; what is missing is taken from the variables
	// PGHOST, PGPASSWORD and so on. Required.
	URL string

	// Schema holds the tables: 1 to 60 letters, digits, _, - and :, not beginning with
	// pg_. Two fleets in one database need two. Default: "recloser".
	Schema string

	// Timeout bounds each use of the server, with the connection that it may need:
	// 10ms to 10s, 1s by default.
	Timeout time.Duration
}

// Defaults of [Options].
const (
	DefaultSchema  = "recloser"
	DefaultTimeout = time.Second
)

const (
	form         = "postgres://user:password@host:5432/database" //nolint:gosec // an example
	maxConns     = 4
	maxIdleFor   = time.Minute
	connectingIn = 5 * time.Second // unless the URL has connect_timeout; callers need not wait for it
)

var schemaName = regexp.MustCompile(`^[A-Za-z0-9_:-]{1,60}$`)

// Validate returns all that is wrong with the options, joined. Its text shows no password.
func (o Options) Validate() error {
	_, err := o.parse()
	return err
}

func (o Options) withDefaults() Options {
	o.Schema = cmp.Or(o.Schema, DefaultSchema)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return o
}

// parse returns how connections are made.
func (o Options) parse() (*pgxpool.Config, error) {
	o = o.withDefaults()
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("pgstore: "+format, args...))
	}
	if !schemaName.MatchString(o.Schema) || strings.HasPrefix(o.Schema, "pg_") {
		bad("schema %q: it must have 1 to 60 letters, digits, _, - or :, and not begin with pg_", o.Schema)
	}
	if o.Timeout < 10*time.Millisecond || o.Timeout > 10*time.Second {
		bad("timeout %v: it must be 10ms to 10s", o.Timeout)
	}
	config, err := parseURL(o.URL, max(connectingIn, o.Timeout))
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	conn := config.ConnConfig
	conn.DialFunc = dialer(conn.DialFunc)
	conn.RuntimeParams["search_path"] = quoted(o.Schema)
	// What nobody waits for any more must not go on and hold locks; and each statement
	// of a batch must see what was done before it.
	millis := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	conn.RuntimeParams["statement_timeout"] = millis
	conn.RuntimeParams["idle_in_transaction_session_timeout"] = millis
	conn.RuntimeParams["default_transaction_isolation"] = "read committed"
	// The connections of a machine that died are the server's to find. By what systems have
	// as a rule that takes it two hours.
	for name, value := range map[string]string{"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"} {
		conn.RuntimeParams[name] = cmp.Or(conn.RuntimeParams[name], value)
	}
	conn.RuntimeParams["application_name"] = cmp.Or(conn.RuntimeParams["application_name"], "recloser")
	return config, nil
}

// parseURL reads the URL as libpq does, but for what we know better.
func parseURL(raw string, connecting time.Duration) (*pgxpool.Config, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("pgstore: the URL %s "+format, append([]any{Mask(raw)}, args...)...)
	}
	if raw == "" {
		return nil, fmt.Errorf("pgstore: no URL of a database: write %s", form)
	}
	if !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return nil, bad("must begin with postgres://, as %s", form)
	}
	config, err := pgxpool.ParseConfig(raw)
	_, login, _ := strings.Cut(raw[:max(0, strings.LastIndexByte(raw, '@'))], "://")
	switch {
	case err == nil && strings.Contains(config.ConnConfig.Host+config.ConnConfig.Database, "@"), err != nil && strings.ContainsAny(login, "/?#@"):
		return nil, bad("cannot be read: write %s; in a password %%40 for @, %%2F for /, %%23 for #", form)
	case err != nil:
		why := err.Error()
		why = why[strings.LastIndexByte(why, '`')+1:] // what is before quotes the URL
		if reveals(why, login) {
			why = ": write " + form
		}
		return nil, bad("cannot be used%s", why)
	}
	if !strings.Contains(raw, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	if !strings.Contains(raw, "pool_max_conn_idle_time=") {
		config.MaxConnIdleTime = maxIdleFor
	}
	if !strings.Contains(raw, "connect_timeout=") {
		config.ConnConfig.ConnectTimeout = connecting
	}
	return config, nil
}

// reveals reports whether a text holds a part of a user or a password: what is mistyped
// may be taken for a port.
func reveals(text, login string) bool {
	parts := strings.FieldsFunc(login, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(parts, func(part string) bool { return len(part) > 2 && strings.Contains(text, part) })
}

// quoted is a name as SQL has it.
func quoted(name ...string) string { return pgx.Identifier(name).Sanitize() }

// Mask returns a URL as it may be shown and logged: without user, password and
// parameters. It takes what is no URL as well, as what somebody mistyped is where a
// password leaks.
func Mask(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return "***"
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = "***@", rest[at+1:]
	} else if strings.ContainsRune(rest, '#') {
		return scheme + "://***" // what is before it may be the beginning of a password
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + user + rest
}

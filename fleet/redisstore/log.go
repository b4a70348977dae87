package redisstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends what go-redis says of its connections to log, at debug level; without it
// that goes to stderr, a line for each connection that fails. It holds for all of the
// process, other users of go-redis included, so it is for a program's main.
func LogTo(log *slog.Logger) { redis.SetLogger(logger{log}) }

type logger struct{ log *slog.Logger }

func (l logger) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}

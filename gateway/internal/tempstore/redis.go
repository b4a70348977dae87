package tempstore

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// redisServer is one that keeps nothing on disk: restarted, it is empty.
func redisServer() server {
	return server{
		prepare: func(context.Context, *Store) error { return nil },
		command: func(s *Store) *exec.Cmd {
			cmd := exec.Command(s.program, "-")
			// Not as arguments: everybody on the machine can read those.
			cmd.Stdin = strings.NewReader(fmt.Sprintf(
				"bind 127.0.0.1\nport %s\nrequirepass %s\ndir %q\nsave \"\"\nappendonly no\nloglevel warning\n", s.port(), s.password, s.folder))
			return cmd
		},
		url:  url.URL{Scheme: "redis", User: url.User(""), Path: "/0"},
		kill: os.Kill,
	}
}

func findRedis() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", missing("redis-server", "redis-server", "postgres")
}

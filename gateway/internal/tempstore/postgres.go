package tempstore

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

const administrator = "recloser"

// postgresServer is one with a new database; restarted, it has what it had. Nothing is
// synced to the disk, which only a machine that stops could tell.
func postgresServer() server {
	return server{
		prepare: initdb,
		command: func(s *Store) *exec.Cmd {
			return postgresProgram(context.Background(), s, "postgres", "-D", filepath.Join(s.folder, "data"), "-p", s.port(),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=16MB")
		},
		url:   url.URL{Scheme: "postgres", User: url.User(administrator), Path: "/postgres", RawQuery: "sslmode=disable"},
		kill:  syscall.SIGQUIT, // SIGKILL would leave its children behind
		keeps: true,
	}
}

// initdb makes the database.
func initdb(ctx context.Context, s *Store) error {
	secret := filepath.Join(s.folder, "password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	if err := giveAway(s.folder, secret); err != nil {
		return err
	}
	cmd := postgresProgram(ctx, s, "initdb", "-D", filepath.Join(s.folder, "data"), "-U", administrator, "--pwfile", secret,
		"-A", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %.500s", err, out)
	}
	return nil
}

// postgresProgram is one of the server's programs, run by whom it agrees to be run.
func postgresProgram(ctx context.Context, s *Store, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.program, name), args...)
	cmd.Dir = s.folder
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")} // none of PGDATA, PGPORT, ...
	runAsOwner(cmd, s.folder)
	return cmd
}

// findPostgres returns the folder of initdb and postgres, which Debian does not put on the
// path.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if file, err := filepath.EvalSymlinks(path); err == nil { // the others are beside it
			return filepath.Dir(file), nil
		}
	}
	if file := newest("/usr/lib/postgresql/*/bin/initdb"); file != "" {
		return filepath.Dir(file), nil
	}
	return "", missing("PostgreSQL (initdb)", "postgresql", "redis")
}

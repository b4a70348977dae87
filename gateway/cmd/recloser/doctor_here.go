package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/certs"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

const (
	clockLook  = 100 * time.Millisecond // for so long both clocks are watched
	clockSlip  = 20 * time.Millisecond  // more between them is no accident of the scheduler
	fullDisk   = 50 << 20               // bytes: a day of history is about a fifth
	nearlyFull = 500 << 20
)

// examineClocks compares the wall clock with the one that only counts, by which
// breakers work, and asks whether somebody keeps the former right.
func examineClocks() []finding {
	begin := time.Now()
	time.Sleep(clockLook)
	end := time.Now()
	counted, wall := end.Sub(begin), end.Round(0).Sub(begin.Round(0))
	var findings []finding
	if slip := (wall - counted).Abs(); slip > clockSlip {
		findings = append(findings, warn("clock", "breakers do not mind, but times in history and maintenance do; see what sets the clock",
			"the wall clock was moved by %s within %s", wall-counted, counted.Round(time.Millisecond)))
	} else {
		findings = append(findings, good("clock", "the wall clock runs evenly"))
	}
	switch yes, known := clockSynchronised(); {
	case !known:
		return append(findings, good("time", "whether the clock is kept right cannot be read on this system"))
	case !yes:
		return append(findings, warn("time", "run chrony or systemd-timesyncd, or overrides and maintenance end at the wrong time",
			"nothing keeps the clock right (%s)", time.Now().UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	return append(findings, good("time", "the clock is kept right"))
}

// examineStorage looks whether the file of history and acts can be written. It
// opens no database: a gateway may be using it.
func examineStorage(path string) []finding {
	if path == "" {
		return []finding{warn("storage", "set storage to a file", "off: acts, history and learned limits do not outlive a restart")}
	}
	dir := filepath.Dir(path)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist): // serve makes it
	case err != nil:
		return []finding{fail("storage", "give the user that runs the gateway the right to write it", "%v", err)}
	default:
		defer file.Close()
		head := make([]byte, 16)
		if n, err := io.ReadFull(file, head); err == nil && !strings.HasPrefix(string(head), "SQLite format 3\x00") || err != nil && n > 0 {
			return []finding{fail("storage", "name another file with storage, or move this one away", "%s is no SQLite file", path)}
		}
	}
	trial, err := os.CreateTemp(dir, ".recloser-*") // SQLite writes files beside it, too
	if err != nil {
		return []finding{fail("storage", "make the folder, and give the user that runs the gateway the right to write there", "%v", err)}
	}
	_, err = trial.Write(make([]byte, 4096))
	if err = errors.Join(err, trial.Close(), os.Remove(trial.Name())); err != nil {
		return []finding{fail("storage", "make room, or set storage to a file on another disk", "%v", err)}
	}
	free, known := freeSpace(dir)
	switch {
	case !known:
		return []finding{good("storage", "%s can be written", path)}
	case free < fullDisk:
		return []finding{fail("storage", "make room", "%s: only %d MB are free", path, free>>20)}
	case free < nearlyFull:
		return []finding{warn("storage", "make room", "%s: only %d MB are free", path, free>>20)}
	}
	return []finding{good("storage", "%s can be written, %d MB are free", path, free>>20)}
}

// examineFiles compares how many sockets there may be with how many are needed:
// one to the caller and one to the dependency for each call that runs.
func examineFiles(c *config.Config) []finding {
	const others = 64 // listeners, log, storage
	limit, known := openFiles()
	needed := uint64(2*max(0, c.Limits.InFlight) + others)
	switch {
	case !known:
		return nil
	case limit < needed:
		return []finding{warn("open files", fmt.Sprintf("raise LimitNOFILE or ulimit -n to %d, or lower limits.in_flight", needed),
			"%d are allowed, and limits.in_flight takes up to %d", limit, needed)}
	}
	return []finding{good("open files", "%d are allowed", limit)}
}

// examineCertificates reads those of the listeners, and says how long they are good.
func examineCertificates(c *config.Config, now time.Time) (findings []finding) {
	for _, l := range listenersWithTLS(c) {
		files, err := certs.Load(l.Cert, l.Key, certs.Options{})
		if err != nil {
			findings = append(findings, fail(l.setting, "", "%v", err))
			continue
		}
		end := files.Status().NotAfter
		switch left := end.Sub(now); {
		case left <= 0:
			findings = append(findings, fail(l.setting, "renew it", "%s: the certificate ended on %s", l.Cert, end.UTC().Format(time.DateOnly)))
		case left < soonOver:
			findings = append(findings, warn(l.setting, "renew it", "%s: the certificate ends in %s", l.Cert, plain.Span(left)))
		default:
			findings = append(findings, good(l.setting, "%s: certificate until %s", l.Cert, end.UTC().Format(time.DateOnly)))
		}
	}
	return findings
}

// examineListeners looks whether the addresses are free, or taken by a gateway.
func examineListeners(ctx context.Context, c *config.Config) []finding {
	var findings []finding
	for _, l := range []struct {
		setting, address, path string
		isOurs                 func(*http.Response) bool
		tls                    bool
	}{
		{"listen", c.Listen, "/%00", func(r *http.Response) bool {
			return strings.HasPrefix(r.Header.Get("Content-Type"), "application/problem+json")
		}, c.TLS != nil},
		{"admin.listen", c.Admin.Listen, "/version", isOurAdmin, c.Admin.TLS != nil},
	} {
		var config net.ListenConfig
		socket, err := config.Listen(ctx, "tcp", l.address)
		switch {
		case err == nil:
			_ = socket.Close()
			findings = append(findings, good(l.setting, "%s is free", l.address))
		case !errors.Is(err, syscall.EADDRINUSE):
			findings = append(findings, fail(l.setting, "set another address", "%v", err))
		case answers(ctx, l.address, l.path, l.tls, l.isOurs), answers(ctx, l.address, l.path, !l.tls, l.isOurs): // it may not know of a change yet
			findings = append(findings, good(l.setting, "%s is taken by a gateway that runs", l.address))
		default:
			findings = append(findings, fail(l.setting, "stop it, or set another address", "%s is taken by another program", l.address))
		}
	}
	return findings
}

// isOurAdmin reports whether a gateway answers when it is asked for its version. One
// with sign_in does not tell that, and is known by how it says so.
func isOurAdmin(r *http.Response) bool {
	return r.StatusCode == http.StatusOK || r.StatusCode == http.StatusUnauthorized && r.Header.Get("WWW-Authenticate") == auth.Challenge
}

// answers asks whoever listens on this machine who it is. Nothing secret is said, so
// any certificate will do: one of its own has no other to vouch for it.
func answers(ctx context.Context, address, path string, secure bool, isOurs func(*http.Response) bool) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return false
	}
	client := reachClient()
	client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return isOurs(resp)
}

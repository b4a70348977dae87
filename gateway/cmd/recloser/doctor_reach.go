package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

const (
	reachWithin = 3 * time.Second // for each step
	reachAtOnce = 16
	soonOver    = 14 * 24 * time.Hour // that near its end a certificate should have been renewed
)

// examineRemote looks at whom the gateway talks to: webhooks and the collector of
// traces as far as a message would go, dependencies as far as their probe.
func examineRemote(ctx context.Context, c *config.Config) []finding {
	type target struct {
		what  string
		url   *url.URL
		probe *config.Probe
		from  string // of a dependency
	}
	var targets []target
	for _, t := range c.Alerts.Channels {
		if u, err := url.Parse(t.URL.Reveal()); err == nil && t.Kind != config.Shoutrrr { // whose hosts are its own affair
			targets = append(targets, target{what: "webhook " + t.Name, url: u})
		}
	}
	if c.Traces != nil {
		targets = append(targets, target{what: "traces", url: c.Traces.Endpoint})
	}
	for _, d := range c.Dependencies {
		targets = append(targets, target{"dependency " + d.ID, d.URL, d.Probe, c.File})
	}
	all, from, err := addedDependencies(ctx, c)
	var rest []finding
	if err != nil {
		rest = append(rest, warn("dependencies", "let this user read the storage, or show the gateway a token (RECLOSER_TOKEN)",
			"whether some were added at run time is not known: %s", plain.Line(err.Error())))
	}
	for _, d := range all {
		if d.fault != nil {
			f := fail("dependency "+d.ID, "correct it with recloser dependency set, or remove it", "it is left out: %s", plain.Line(d.fault.Error()))
			f.From = from
			rest = append(rest, f)
			continue
		}
		targets = append(targets, target{"dependency " + d.ID, d.URL, d.Probe, from})
	}
	findings := make([]finding, len(targets))
	slots := make(chan struct{}, reachAtOnce)
	var running sync.WaitGroup
	for i, t := range targets {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			findings[i] = examineTarget(ctx, t.what, t.url, t.probe)
			findings[i].From = t.from
		})
	}
	running.Wait()
	return append(findings, rest...)
}

// examineTarget goes as far as it can: name, connection, TLS, probe. The URL may
// hold a secret, so only its host is told.
func examineTarget(ctx context.Context, what string, u *url.URL, probe *config.Probe) finding {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	step, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(step, host)
	if err != nil {
		return fail(what, "correct its url, or see that this machine's name server knows it", "the name %s has no address (%s)", host, shortly(err))
	}
	var dialer net.Dialer
	begin := time.Now()
	step, cancel = context.WithTimeout(ctx, reachWithin)
	defer cancel()
	conn, err := dialer.DialContext(step, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		at := net.JoinHostPort(host, port)
		if !slices.Contains(addresses, host) {
			at += " (" + strings.Join(addresses, ", ") + ")"
		}
		return fail(what, "see that it is up, and that a firewall lets this machine through", "%s cannot be connected to: %s", at, shortly(err))
	}
	defer conn.Close()
	took := time.Since(begin)
	found := fmt.Sprintf("%s: connected in %s", net.JoinHostPort(host, port), plain.Span(took))
	if u.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(step); err != nil {
			return fail(what, "renew its certificate, or have this machine trust who issued it", "%s: TLS fails: %s", host, shortly(err))
		}
		end := secure.ConnectionState().PeerCertificates[0].NotAfter
		if left := time.Until(end); left < soonOver {
			return warn(what, "renew it", "%s: the certificate ends in %s", host, plain.Span(left))
		}
		found += ", certificate until " + end.UTC().Format(time.DateOnly)
	}
	if probe == nil {
		return good(what, "%s", found)
	}
	return examineProbe(ctx, what, found, u, probe)
}

func examineProbe(ctx context.Context, what, found string, u *url.URL, probe *config.Probe) finding {
	within := probe.Timeout
	if within <= 0 {
		within = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	path, query, _ := strings.Cut(probe.Path, "?")
	target := u.JoinPath(path)
	if query != "" {
		target.RawQuery = query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return fail(what, "correct probe.path", "%s: no probe can be sent there", found)
	}
	begin := time.Now()
	resp, err := reachClient().Do(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return warn(what, "if it is well, raise probe.timeout, or take a lighter probe.path", "%s, but the probe %s takes over %s", found, probe.Path, plain.Span(within))
	case err != nil:
		return warn(what, "see why, or take another probe.path", "%s, but the probe %s fails: %s", found, probe.Path, shortly(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return warn(what, "see why it says so, or take another probe.path", "%s, but the probe %s is answered with %d", found, probe.Path, resp.StatusCode)
	}
	return good(what, "%s, probe %d in %s", found, resp.StatusCode, plain.Span(time.Since(begin)))
}

// reachClient makes connections of its own and follows nobody elsewhere.
func reachClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// shortly is an error without what was said before it.
func shortly(err error) string {
	if in, ok := errors.AsType[*url.Error](err); ok {
		err = in.Err
	}
	if in, ok := errors.AsType[*net.DNSError](err); ok {
		return plain.Line(in.Err)
	}
	if in, ok := errors.AsType[*net.OpError](err); ok {
		err = in.Err
	}
	if in, ok := errors.AsType[*os.SyscallError](err); ok {
		err = in.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || strings.HasSuffix(err.Error(), "i/o timeout") {
		return "no answer within " + plain.Span(reachWithin)
	}
	return plain.Line(err.Error())
}

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// These tests run the program as it is shipped, in a process of its own, and talk
// to it as others would: over the wire.

// node is a gateway that may end and begin again on the same file and storage.
type node struct {
	*process
	t            *testing.T
	file         string
	calls, admin string
}

// startNode serves a config with a storage of its own.
func startNode(t *testing.T, config string) *node {
	t.Helper()
	n := &node{t: t, file: writeConfig(t, config)}
	n.start()
	return n
}

func (n *node) start() {
	n.t.Helper()
	n.process, n.calls, n.admin = serveFile(n.t, n.file)
}

// end stops it with a signal and waits until it is gone.
func (n *node) end(s os.Signal) int {
	n.t.Helper()
	n.signal(s)
	return n.wait()
}

// rewrite changes its file.
func (n *node) rewrite(config string) {
	n.t.Helper()
	replaceFile(n.t, n.file, config)
}

// replaceFile changes a file as editors and deployments do, whole.
func replaceFile(t *testing.T, file, content string) {
	t.Helper()
	beside := file + ".new"
	if err := errors.Join(os.WriteFile(beside, []byte(content), 0o600), os.Rename(beside, file)); err != nil {
		t.Fatal(err)
	}
}

// api makes a request of the admin API and decodes its answer into out, if any.
func (n *node) api(method, path, body string, out any) (status int, text string) {
	n.t.Helper()
	status, text, err := request(method, n.admin+"/api/v1"+path, body)
	if err != nil {
		n.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			n.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return status, text
}

// must is api for what has to work.
func (n *node) must(method, path, body string) {
	n.t.Helper()
	if status, text := n.api(method, path, body, nil); status/100 != 2 {
		n.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// dependencyState is what the API says of a dependency.
type dependencyState struct {
	ID, State, Automatic, Reason, Origin string
	Since, Until                         time.Time
	Version                              uint64
	Explain                              string
	Step                                 int
	Override                             *struct {
		State, Reason, By string
		Until             *time.Time
	}
	Totals struct{ Success, Failed, Slow uint64 }
}

func (n *node) state(id string) (s dependencyState) {
	n.t.Helper()
	n.api(http.MethodGet, "/dependencies/"+id, "", &s)
	return s
}

// await waits until a dependency is in a state.
func (n *node) await(id, state string) (s dependencyState) {
	n.t.Helper()
	eventually.True(n.t, patience, func() bool { s = n.state(id); return s.State == state }, id+" to be "+state)
	return s
}

func request(method, url, body string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

// curl runs it and returns what it has written to stdout. It is there after make
// test, which installs it.
func curl(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "curl", append([]string{"-sS"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("this test needs curl: make test installs it")
	}
	if err != nil {
		t.Fatalf("curl %q: %v %s%s", args, err, stderr.String(), out)
	}
	return string(out)
}

// certificate is a pair of files, and what trusts it.
type certificate struct {
	dir  string
	pool *x509.CertPool
}

func (c certificate) cert() string { return filepath.Join(c.dir, "tls.crt") }
func (c certificate) key() string  { return filepath.Join(c.dir, "tls.key") }

// newCertificate writes one for 127.0.0.1 into a folder, over the one that may be
// there.
func newCertificate(t *testing.T, dir string, serial int64) certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "gateway"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	c := certificate{dir, x509.NewCertPool()}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.pool.AppendCertsFromPEM(public)
	replaceFile(t, c.key(), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	replaceFile(t, c.cert(), string(public))
	return c
}

// coast is some dependencies that live in the test, and as lines of a config.
type coast struct {
	all   []*gatewaytest.Dependency
	lines string
}

// newHotels makes hotel-1, hotel-2 and so on. Each has the same settings besides its
// url, as YAML.
func newHotels(t *testing.T, n int, settings string) *coast {
	t.Helper()
	h := &coast{lines: "dependencies:\n"}
	for i := range n {
		d := gatewaytest.NewDependency(gatewaytest.Yes())
		h.all = append(h.all, d)
		h.lines += fmt.Sprintf("  hotel-%d: { url: %q%s }\n", i+1, d.Listen(t), settings)
	}
	return h
}

// head is what every config begins with.
const head = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
`

const proxyRoute = `routes: [ { path: "/hotels/{dependency}/*" } ]
`

// load calls paths of a gateway evenly, each so many times a second, until it is
// ended.
type load struct {
	client  *http.Client
	stop    context.CancelFunc
	callers sync.WaitGroup
}

// newLoad tells heard of every answer: of which path, when it was asked, how long it
// took, and the status, 0 if there was none. It is called from many goroutines.
func newLoad(t *testing.T, base string, paths []string, perSecond int, heard func(path string, asked time.Time, took time.Duration, status int)) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: patience}, stop: cancel}
	call := func(path string) {
		asked, status := time.Now(), 0
		resp, err := l.client.Get(base + path)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err == nil {
				status = resp.StatusCode
			}
		}
		heard(path, asked, time.Since(asked), status)
	}
	l.callers.Go(func() {
		ticker := time.NewTicker(time.Second / time.Duration(perSecond*len(paths)))
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				l.callers.Go(func() { call(paths[i%len(paths)]) })
			}
		}
	})
	t.Cleanup(l.end)
	return l
}

// end waits for the last answer.
func (l *load) end() {
	l.stop()
	l.callers.Wait()
	l.client.CloseIdleConnections()
}

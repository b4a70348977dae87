package alert

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// G18: the URL's secret appears in no log, whatever goes wrong.
func TestG18SecretStaysSecret(t *testing.T) {
	fail := func(err error) func(int, *http.Request) (*http.Response, error) {
		return func(int, *http.Request) (*http.Response, error) { return nil, err }
	}
	cases := []struct {
		name   string
		answer func(int, *http.Request) (*http.Response, error)
		says   string // so that masking does not hide the fault
	}{
		{"no such host", fail(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "prod.example", IsNotFound: true}}), "no such host"},
		{"error with the whole URL", fail(fmt.Errorf("proxy cannot reach %s", hook)), "proxy cannot reach"},
		{"error with the path", fail(errors.New("bad: /workflows/0123abcd/triggers/manual/paths/invoke?sig=" + secret)), "bad: "},
		{"the beginning of the secret", fail(errors.New("bad: sig=" + secret[:9])), "bad: "},
		{"the end of the secret", fail(errors.New("bad: " + secret[7:] + "!")), "bad: ***!"},
		{"a cut path", fail(errors.New("no such thing: /workflows/0123abcd/trig")), "no such thing: ***"},
		{"timeout", hang, "deadline exceeded"},
		{"redirect", replies(status(302, "", "Location", hook)), "302 Found: redirects are not followed"},
		{"redirect elsewhere", replies(status(307, "", "Location", "https://elsewhere.example/"+secret)), "307"},
		{"redirect without an address", replies(status(302, "")), "302"},
		{"refused with an echo", replies(status(400, "no such trigger: "+hook)), "400 Bad Request"},
		{"server error with an echo", replies(status(500, hook)), "500"},
		{"accepted", replies(status(202, hook)), "accepted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &webhook{answer: c.answer}
				a, log := started(t, w)
				a.tell("h", recloser.Open)
				stopWithin(t, a, 15*time.Second)
				synctest.Wait()
				checkSecret(t, log.String(), c.says)
				for _, title := range w.seen() {
					if title != "h is cut off" {
						t.Errorf("posted %q", title)
					}
				}
			})
		})
	}
}

// The same over real connections: a server that repeats the request in a broken
// answer, one that redirects, and none at all.
func TestG18SecretStaysSecretOnTheWire(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintf(conn, "%s\r\n\r\n", strings.TrimSpace(line))
			conn.Close()
		}
	}()
	followed := make(chan string, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { followed <- r.URL.String() }))
	defer target.Close()
	redirect := httptest.NewServer(http.RedirectHandler(target.URL+"/"+secret, http.StatusTemporaryRedirect))
	defer redirect.Close()
	closed := httptest.NewServer(nil)
	closed.Close()

	for name, c := range map[string]struct{ url, says string }{
		"echo":     {"http://" + echo.Addr().String(), "malformed HTTP"},
		"redirect": {redirect.URL, "redirects are not followed"},
		"nobody":   {closed.URL, "connection refused"},
		"not TLS":  {strings.Replace(target.URL, "http:", "https:", 1), "HTTPS"},
	} {
		t.Run(name, func(t *testing.T) {
			channel := newTeams(config.Teams{Name: "ops", URL: config.Secret(c.url + "/workflows/" + secret + "/invoke?sig=" + secret + "%2Bx")}, nil)
			err := channel.Send(t.Context(), Message{ID: "h", Name: "h", News: steps("h", recloser.Open)[0]})
			if err == nil {
				t.Fatal("accepted")
			}
			checkSecret(t, err.Error(), c.says)
		})
	}
	select {
	case url := <-followed:
		t.Errorf("a redirect was followed to %s", url)
	default:
	}
}

func checkSecret(t *testing.T, text, says string) {
	t.Helper()
	if strings.Contains(text, "s3cr3t") || strings.Contains(text, "signature") || strings.Contains(text, "0123abcd") {
		t.Errorf("the secret is told: %s", text)
	}
	if !strings.Contains(text, says) {
		t.Errorf("does not say %q: %s", says, text)
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	c := newTeams(config.Teams{Name: "ops", URL: hook}, nil)
	a := New(Options{Teams: []config.Teams{{Name: "ops", URL: hook}}, Log: slog.New(slog.DiscardHandler)})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, v := range []any{c, *c, a, a.outlets[0], a.outlets} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "s3cr3t") {
				t.Errorf("%s of %T: %s", verb, v, text)
			}
		}
	}
}

func TestUsableURLs(t *testing.T) {
	for url, usable := range map[string]bool{
		hook:                          true,
		"https://any.host.example/x":  true,
		"https://[2001:db8::1]:8443/": true,
		"http://127.0.0.1:8080/x":     true,
		"http://[::1]/x":              true,
		"http://localhost/x":          true,
		"http://any.host.example/x":   false,
		"http://10.0.0.1/x":           false,
		"ftp://any.host.example/x":    false,
		"any.host.example/x":          false,
		"https:///x":                  false,
		"":                            false,
		"https://any.host/%zz":        false,
	} {
		c := newTeams(config.Teams{URL: config.Secret(url)}, nil)
		if got := c.url != nil; got != usable {
			t.Errorf("%q: usable %v, want %v", url, got, usable)
		}
		if !usable {
			err := c.Send(t.Context(), Message{})
			if refused, ok := errors.AsType[*SendError](err); !ok || !refused.Permanent || url != "" && strings.Contains(err.Error(), url) {
				t.Errorf("%q: %v", url, err)
			}
		}
	}
}

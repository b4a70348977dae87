package channel

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

const (
	secret = "s3cr3t-signature"
	hook   = "https://prod.example:443/workflows/0123abcd/triggers/manual/paths/invoke?api-version=1&sig=" + secret
)

var kinds = []config.ChannelKind{config.Teams, config.Slack, config.Webhook, config.Alertmanager}

func trip() message.Message { return goldenMessages()["started"] }

// roundTrip is a transport that fails or answers as the test wants.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// G18: the URL's secret is in no error, whatever goes wrong.
func TestG18SecretStaysSecret(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says string // so that masking does not hide the fault
	}{
		"no such host":             {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "prod.example", IsNotFound: true}}, "no such host"},
		"error with the whole URL": {fmt.Errorf("proxy cannot reach %s", hook), "proxy cannot reach"},
		"error with the path":      {errors.New("bad: /workflows/0123abcd/triggers/manual/paths/invoke?sig=" + secret), "bad: "},
		"beginning of the secret":  {errors.New("bad: sig=" + secret[:9]), "bad: "},
		"end of the secret":        {errors.New("bad: " + secret[7:] + "!"), "bad: ***!"},
		"a cut path":               {errors.New("no such thing: /workflows/0123abcd/trig"), "no such thing: ***"},
	} {
		for _, kind := range kinds {
			ch := New(config.Channel{Kind: kind, Name: "ops", URL: hook}, &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, c.err })})
			err := ch.Send(t.Context(), trip())
			if err == nil {
				t.Fatalf("%s, %s: accepted", kind, name)
			}
			checkSecret(t, err.Error(), c.says)
		}
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
	followed := make(chan string, 100)
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
		for _, kind := range kinds {
			channel := New(config.Channel{Kind: kind, Name: "ops", URL: config.Secret(c.url + "/workflows/" + secret + "/invoke?sig=" + secret + "%2Bx")}, nil)
			err := channel.Send(t.Context(), trip())
			if err == nil {
				t.Fatal(name, kind, "accepted")
			}
			checkSecret(t, err.Error(), c.says)
		}
	}
	select {
	case url := <-followed:
		t.Errorf("a redirect was followed to %s", url)
	default:
	}
}

// What shoutrrr says of its URLs is masked too.
func TestG18ShoutrrrKeepsTheSecret(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	host := strings.TrimPrefix(closed.URL, "http://")
	for _, url := range []string{
		"smtp://user:" + secret + "@" + host + "/?from=a@example.com&to=b@example.com",
		"generic://" + host + "/" + secret + "?disabletls=yes",
		"gotify://" + host + "/" + secret + "?disabletls=yes",
		"nonsense://" + secret + "@x/" + secret,
		"smtp://" + secret + ":%zz",
	} {
		c := New(config.Channel{Kind: config.Shoutrrr, Name: "ops", URL: config.Secret(url)}, nil)
		err := c.Send(t.Context(), trip())
		if err == nil {
			t.Fatal("accepted")
		}
		checkSecret(t, err.Error(), "")
		checkSecret(t, fmt.Sprintf("%v %+v %#v", c, c, c), "")
	}
}

// Where a service has its key in the place of the host, that is none of anybody's
// business; nor is a password that is short.
func TestSecretsInOddPlaces(t *testing.T) {
	for _, c := range []struct{ url, text, want string }{
		{"pushbullet://o.k3v7q2abcd/device", "dial o.k3v7q2abcd: refused", "dial ***: refused"},
		{"ifttt://k3v7q2abcd/?events=trip", "no such key k3v7q2abcd", "no such key ***"},
		{"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@ops", "post https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/x: EOF", "post https://api.***.org/bot***/x: EOF"},
		{"smtp://ann:pass@mail.hotel.test:587/?from=a@b.example&to=c@d.example", "mail.hotel.test:587 refused ann with pass", "mail.hotel.test:587 refused ann with ***"},
		{"https://prod.example/hooks?sig=abcd", "bad sig abcd", "bad sig ***"},
		{"https://prod.example/v1/T0k3n/send", "no hook T0k3n in v1: refused", "no hook *** in v1: refused"},
		{"https://prod.example/k%C3%A9y%2F1/", "no such kéy/1, or k%C3%A9y%2F1", "no such ***, or ***"},
		{"https://prod.example/hooks?v=1", "answered 1", "answered 1"},
		{"pagerduty://events.pagerduty.com/eventsrouting?severity=critical", "eventsrouting is unknown", "*** is unknown"},
	} {
		u, err := url.Parse(c.url)
		must(t, err)
		if got := mask(errors.New(c.text), u); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
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
	for _, kind := range append(kinds, config.Shoutrrr) {
		c := New(config.Channel{Kind: kind, Name: "ops", URL: hook, Key: secret}, nil)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			for _, v := range []any{c, &c, []Channel{c}} {
				if text := fmt.Sprintf(verb, v); strings.Contains(text, "s3cr3t") {
					t.Errorf("%s of %s: %s", verb, kind, text)
				}
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
		c := newPoster(config.Channel{Kind: config.Teams, URL: config.Secret(url)}, nil)
		if got := c.url != nil; got != usable {
			t.Errorf("%q: usable %v, want %v", url, got, usable)
		}
		if !usable {
			err := teams{c}.Send(t.Context(), message.Message{})
			if refused, ok := errors.AsType[*SendError](err); !ok || !refused.Address || url != "" && strings.Contains(err.Error(), url) {
				t.Errorf("%q: %v", url, err)
			}
		}
	}
	if newPoster(config.Channel{Kind: config.Alertmanager, URL: "http://alertmanager.example:9093"}, nil).url == nil {
		t.Error("an Alertmanager needs https")
	}
}

package forwarded

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
)

func TestPath(t *testing.T) {
	for written, want := range map[string]string{
		"/":               "/",
		"/a b":            "/a%20b",
		"/a%2Fb":          "/a%2Fb",
		`/a%2Fb"c`:        "/a%2Fb%22c",
		"/a%2fb<c>":       "/a%2fb%3Cc%3E",
		"/h\u00f6he%2Fx":  "/h%C3%B6he%2Fx",
		"/h%c3%b6he":      "/h%c3%b6he",
		"/a%41|b":         "/a%41%7Cb",
		"/[a];b=c,d@e:f~": "/[a];b=c,d@e:f~",
		"/!$&'()*+,;=:@":  "/!$&'()*+,;=:@",
		"//a//":           "//a//",
		"/%25%22\"":       "/%25%22%22",
	} {
		u, err := url.ParseRequestURI(written)
		if err != nil {
			t.Fatal(err)
		}
		got := Path(u)
		if got != want {
			t.Errorf("%s: got %s, want %s", written, got, want)
		}
		if again := (&url.URL{RawPath: got, Path: u.Path}).EscapedPath(); again != got {
			t.Errorf("%s would be sent as %s", got, again)
		}
	}
}

func TestFrom(t *testing.T) {
	in := &http.Request{Host: "gateway.example", RemoteAddr: "192.0.2.1:5000"}
	out := &http.Request{Header: http.Header{
		"X-Forwarded-For": {"1.2.3.4"}, "X-Forwarded-Port": {"1"}, "X-Real-Ip": {"1.2.3.4"}, "Forwarded": {"for=1.2.3.4"}, "X-Guest": {"7"},
	}}
	From(&httputil.ProxyRequest{In: in, Out: out})
	for key, want := range map[string]string{
		"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "gateway.example", "X-Forwarded-Proto": "http", "X-Guest": "7",
		"X-Forwarded-Port": "", "X-Real-Ip": "", "Forwarded": "",
	} {
		if got := out.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestWhatAClientMayNotClaim(t *testing.T) {
	for key, claimed := range map[string]bool{
		"X-Forwarded-For": true, "X-Forwarded-Anything": true, "X_forwarded_for": true, "X-Forwarded_for": true, "X-Real-Ip": true, "X_real_ip": true,
		"Forwarded": true, "Via": true, "Recloser-Reason": true, "Recloser_last_known": true,
		"": false, "X-Guest": false, "X-Forward": false, "Referer": false, "From": false, "Vary": false, "Range": false, "Accept": false, "Recloser": false,
	} {
		if claims(key) != claimed {
			t.Errorf("%q: %t, want %t", key, !claimed, claimed)
		}
	}
}

func TestDropOurs(t *testing.T) {
	h := http.Header{"Recloser-Reason": {"open"}, "Recloser-Last-Known": {"1"}, "X-Guest": {"7"}}
	DropOurs(h)
	if len(h) != 1 || h.Get("X-Guest") != "7" {
		t.Errorf("left is %v", h)
	}
}

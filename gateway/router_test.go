package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// testRouter answers with the route that was chosen and what varies in its path.
func testRouter(t *testing.T, paths ...string) *router {
	t.Helper()
	var routes []config.Route
	for _, p := range paths {
		routes = append(routes, config.Route{Path: p})
	}
	return newRouter(routes, func(route config.Route) handlerFunc {
		return func(w http.ResponseWriter, _ *http.Request, dependency, rest string) {
			fmt.Fprintf(w, "%s|%s|%s", route.Path, dependency, rest)
		}
	})
}

func TestRouter(t *testing.T) {
	// The order of the file does not matter.
	rt := testRouter(t, "/*", "/{dependency}/*", "/hotels/{dependency}/*", "/hotels/h1/keys", "/hotels/{dependency}/keys", "/access", "/exact/", "/{dependency}/x/*")
	for _, c := range []struct{ path, want string }{
		{"/hotels/h1/rooms/7", "/hotels/{dependency}/*|h1|rooms/7"},
		{"/hotels/h2", "/hotels/{dependency}/*|h2|"},
		{"/hotels/h2/", "/hotels/{dependency}/*|h2|"},
		{"/hotels/h2//a//b/", "/hotels/{dependency}/*|h2|/a//b/"}, // as it is: no cleaning, no redirect
		{"/hotels/h2/a%2Fb%20c", "/hotels/{dependency}/*|h2|a%2Fb%20c"},
		{`/hotels/h2/a%2Fb"c`, "/hotels/{dependency}/*|h2|a%2Fb%22c"},
		{"/hotels/h2/h\u00f6he/a%2Fb<", "/hotels/{dependency}/*|h2|h%C3%B6he/a%2Fb%3C"},
		{"/hotels/h1%2Fx", "/hotels/{dependency}/*|h1/x|"},
		{"/hotels/h%31/a", "/hotels/{dependency}/*|h1|a"},
		{"/hotels/h1/keys", "/hotels/h1/keys||"},
		{"/hotels/h2/keys", "/hotels/{dependency}/keys|h2|"},
		{"/hotels/h2/keys/1", "/hotels/{dependency}/*|h2|keys/1"},
		{"/access", "/access||"},
		{"/access?path=/../x", "/access||"},
		{"/exact/", "/exact/||"},
		{"/h1/x", "/{dependency}/x/*|h1|"},
		{"/h1/y", "/{dependency}/*|h1|y"},
		{"/", "/*||"},
		{"//h1/a", "/*||/h1/a"},
		{"/h1/...", "/{dependency}/*|h1|..."},
		{"/h1/100%2525", "/{dependency}/*|h1|100%2525"},
		{"/h1/a..b/.git", "/{dependency}/*|h1|a..b/.git"},
	} {
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, request(t, c.path))
		if got := w.Body.String(); w.Code != http.StatusOK || got != c.want {
			t.Errorf("%s: got %d %s, want %s", c.path, w.Code, got, c.want)
		}
	}
}

func TestRouterRefuses(t *testing.T) {
	rt := testRouter(t, "/hotels/{dependency}/*", "/access")
	for _, c := range []struct {
		path string
		want int
	}{
		{"/", 404},
		{"*", 404},
		{"/hotels", 404},
		{"/hotels/", 404},
		{"/hotels//x", 404},
		{"/access/", 404},
		{"/access/x", 404},
		{"/Access", 404},
		{"/hotels/../access", 400},
		{"/hotels/h1/../../access", 400},
		{"/hotels/h1/..", 400},
		{"/hotels/h1/./x", 400},
		{"/hotels/h1/%2e%2e/x", 400},
		{"/hotels/h1/%2E./x", 400},
		{"/hotels/h1/..%2fx", 400},
		{"/hotels/h1/x%2f..%2f..%2fy", 400},
		{"/hotels/h1/..%5cx", 400},
		{"/hotels/h1/%252e%252e/x", 400},
		{"/hotels/h1/..;a=b/x", 400},
		{"/hotels/%2e%2e/x", 400},
		{"/hotels/h1/%25252e%25252e/x", 400},
		{"/hotels/h1/a%2525252525/x", 400},
		{"/hotels/h1/..%00/x", 400},
		{"/hotels/h1/..%3f/x", 400},
		{"/hotels/h1/..%23/x", 400},
		{"/hotels/h1/%5c..%5cx", 400},
		{"/hotels/h1/x%2f%2e%2e%3bv=1%2fy", 400},
		{"/hotels/..%2fh1/x", 400},
	} {
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, request(t, c.path))
		body, _ := io.ReadAll(w.Body)
		if w.Code != c.want || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(string(body), `"detail"`) {
			t.Errorf("%s: got %d %s, want %d", c.path, w.Code, body, c.want)
		}
	}
}

// request is as the server would make it, where httptest would panic on "*".
func request(t *testing.T, path string) *http.Request {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
}

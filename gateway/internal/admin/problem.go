package admin

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// Conflict is the problem of an act that does not fit what it acts on.
type Conflict struct {
	huma.ErrorModel
	Current *Dependency `json:"current,omitempty" doc:"The dependency as it is now, if the act is on one"`
}

func newConflict(detail string) *Conflict {
	return &Conflict{ErrorModel: huma.ErrorModel{
		Title: http.StatusText(http.StatusConflict), Status: http.StatusConflict, Detail: detail,
	}}
}

func (a *api) newConflict(d *dependency.Dependency, detail string) *Conflict {
	c, current := newConflict(detail), a.view(d)
	c.Current = &current
	return c
}

// writeProblem answers as the API does where no operation of it was reached.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	problem.Write(w, problem.Problem{Status: status, Detail: detail})
}

// withProblems answers what no route of the mux is for with a problem too.
func withProblems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		miss, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		miss.ServeHTTP(&missWriter{ResponseWriter: w, request: r}, r)
	})
}

// missWriter replaces the plain text that the mux would send, but lets its
// redirects through.
type missWriter struct {
	http.ResponseWriter
	request  *http.Request
	replaced bool
}

func (w *missWriter) WriteHeader(status int) {
	var detail string
	switch {
	case status < 400:
		w.ResponseWriter.WriteHeader(status)
		return
	case status == http.StatusMethodNotAllowed:
		detail = fmt.Sprintf("%s is not possible here, only %s", w.request.Method, w.Header().Get("Allow"))
	default:
		detail = fmt.Sprintf("nothing is at %s; the API is described at /openapi.json", w.request.URL.Path)
	}
	w.replaced = true
	writeProblem(w.ResponseWriter, status, detail)
}

func (w *missWriter) Write(p []byte) (int, error) {
	if w.replaced {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

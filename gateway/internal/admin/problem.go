package admin

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Conflict is the problem of an act that does not fit the dependency's state.
type Conflict struct {
	huma.ErrorModel
	Current Dependency `json:"current" doc:"The dependency as it is now"`
}

func newConflict(d *dependency.Dependency, detail string) *Conflict {
	return &Conflict{
		ErrorModel: problem(http.StatusConflict, detail),
		Current:    newDependency(d),
	}
}

func problem(status int, detail string) huma.ErrorModel {
	return huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail}
}

// writeProblem answers with problem+json (RFC 9457), as the API does.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	body, err := json.Marshal(problem(status, detail))
	if err != nil { // two strings and a number
		body = nil
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
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

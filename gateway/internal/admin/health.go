package admin

import (
	"context"
	"io"
	"net/http"
	"runtime"
)

// registerHealth routes the two health checks. Both are about this process
// only: a dependency that is cut off must not make an orchestrator stop the
// gateway that shields its callers from it.
func registerHealth(mux *http.ServeMux, ready func() bool) {
	ok := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, "ok\n")
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { ok(w) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			writeProblem(w, http.StatusServiceUnavailable, "not ready: the gateway is starting or draining")
			return
		}
		ok(w)
	})
}

// Version says which program answers.
type Version struct {
	Version string `json:"version" doc:"Of Recloser"`
	Go      string `json:"go" doc:"Of the Go release it was built with"`
}

type versionOutput struct {
	Body Version
}

func (a *api) version(context.Context, *struct{}) (*versionOutput, error) {
	return &versionOutput{Body: Version{Version: a.Version, Go: runtime.Version()}}, nil
}

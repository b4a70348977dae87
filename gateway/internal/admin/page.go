package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"time"
)

//go:embed static/page.html
var pageHTML string

//go:embed static/page.css
var pageCSS []byte

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// contentPolicy lets the page load its style sheet and nothing else: text of
// an operator or of a dependency could not run or load a thing even if it
// slipped through the escaping.
const contentPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page is what the template shows.
type page struct {
	Headline headline
	Rows     []row
	Storage  string // what is wrong with where history and acts are kept; "" if nothing is
	Version  string
	Style    string // address of the style sheet
	Now      string
	NowAt    string
	Live     bool // loads itself again and again
}

// registerPage routes the status page and its style sheet, whose address
// changes with its content so that browsers may keep it.
func (a *api) registerPage(mux *http.ServeMux) {
	style := fmt.Sprintf("/static/page-%.8x.css", sha256.Sum256(pageCSS))
	mux.HandleFunc("GET "+style, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(pageCSS)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		p := page{
			Version: a.Version,
			Style:   style,
			Now:     now.UTC().Format("15:04:05"),
			NowAt:   now.UTC().Format(time.RFC3339),
			Live:    r.URL.Query().Get("refresh") != "off",
		}
		for _, d := range a.seen(r.Context()) {
			p.Rows = append(p.Rows, a.newRow(d, now))
		}
		if a.History != nil {
			p.Storage = a.History.Status().Fault
		}
		p.Headline = newHeadline(p.Rows)

		var body bytes.Buffer
		if err := pageTemplate.Execute(&body, p); err != nil {
			a.Log.ErrorContext(r.Context(), "status page not made", "error", err)
			writeProblem(w, http.StatusInternalServerError, "the page could not be made; the log says why")
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", contentPolicy)
		_, _ = w.Write(body.Bytes())
	})
}

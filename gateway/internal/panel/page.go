package panel

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

//go:embed templates
var templates embed.FS

// contentPolicy lets a page load what is the gateway's own and nothing else, and
// run no script that stands in the page: text of an operator or of a dependency
// could do nothing even if it slipped through the escaping.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'"

// view is what every page shows, and in Of what this one does.
type view struct {
	Page       string // its template
	Title      string
	Now        time.Time
	Me         admin.Me
	Acts       bool // the caller may act
	URL        string
	Faults     []string // what is wrong with the gateway itself
	Us         bool     // so many hang that it is rather this node's own network
	AllInDoubt int      // calls of all nodes of the fleet fail to half of what they call: how many there are; 0: it is not so
	Away       bool     // the store that nodes share is away
	Renew      int      // seconds after which the page is made anew though nothing happened; 0: never
	Of         any

	read *admin.Reader
}

// parsePages reads the templates: those in the folder itself are pages, and all of
// them may use those in parts.
func parsePages(a *assets) (map[string]*template.Template, error) {
	parts, err := template.New("parts").Funcs(functions(a)).ParseFS(templates, "templates/parts/*.html")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*template.Template, len(files))
	for _, file := range files {
		page, err := parts.Clone()
		if err == nil {
			_, err = page.ParseFS(templates, file)
		}
		if err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(file), ".html")] = page
	}
	return pages, nil
}

// serve answers with a page that fill makes.
func (p *Panel) serve(w http.ResponseWriter, r *http.Request, read *admin.Reader, fill func(context.Context, *view, *http.Request) error) {
	ctx := r.Context()
	v := &view{Now: p.Now(), Me: read.Me(ctx), read: read, URL: p.urlOf(r)}
	v.Acts = auth.Role(v.Me.Role).Covers(auth.Operator)
	if nodes := read.Nodes(ctx); len(nodes) > 0 {
		v.Faults, v.Us = faultsOf(nodes[0]), nodes[0].Uplink
	}
	if f := read.Fleet(); f != nil && f.Uplink && len(f.Members) > 1 {
		v.AllInDoubt = len(f.Members)
	}
	if f := read.Fleet(); f != nil {
		v.Away = f.Mode != "shared"
	}
	status := http.StatusOK
	if err := fill(ctx, v, r); err != nil {
		status = http.StatusInternalServerError
		if known, ok := errors.AsType[huma.StatusError](err); ok {
			status = known.GetStatus()
		}
		if status == http.StatusInternalServerError {
			p.Log.ErrorContext(ctx, "page not made", "path", r.URL.Path, "error", err)
			err = errors.New("the page could not be made; the gateway's log says why")
		}
		v.Page, v.Title, v.Of = "problem", http.StatusText(status), err.Error()
	}
	p.render(w, r, status, v)
}

// faultsOf returns what is wrong with the gateway itself, and what that means.
func faultsOf(n admin.Node) (all []string) {
	if n.Storage.Fault != "" {
		all = append(all, "History and acts are not being written: "+n.Storage.Fault)
	}
	if r := n.Reload; r != nil && !r.Taken {
		all = append(all, plain.Refused(r.Fault))
	}
	return all
}

func (p *Panel) render(w http.ResponseWriter, r *http.Request, status int, v *view) {
	p.renderAs(w, r, status, "page", v)
}

// renderAs answers with a page in another frame than most have.
func (p *Panel) renderAs(w http.ResponseWriter, r *http.Request, status int, frame string, v *view) {
	var body bytes.Buffer
	if err := p.pages[v.Page].ExecuteTemplate(&body, frame, v); err != nil {
		p.Log.ErrorContext(r.Context(), "page not made", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be made; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	gzipped, err := compress(body.Bytes(), gzip.BestSpeed)
	if err != nil {
		gzipped = nil
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policyOf(v.Page))
	write(w, r, status, body.Bytes(), gzipped)
}

// urlOf returns how the caller reaches the gateway.
func (p *Panel) urlOf(r *http.Request) string {
	switch {
	case p.URL != "":
		return p.URL
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

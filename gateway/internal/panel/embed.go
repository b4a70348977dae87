package panel

import (
	"net/http"
	"strings"
)

// embed is the page with one button for another site's frame, such as that of a
// company's own CMS. The page itself holds nothing: what it shows and does, its script
// asks of the API, with the token that the frame's address has behind its #, which
// no browser sends along and no log sees. Give it one of a group.
func (p *Panel) embed(w http.ResponseWriter, r *http.Request) {
	if len(p.Embedders) == 0 {
		http.Error(w, "no site may show this page in a frame: name those that may with admin.embed in the configuration", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Del("X-Frame-Options") // it knows no list
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	p.renderAs(w, r, http.StatusOK, "embed", &view{Page: "embed", Title: "Dependency", Now: p.Now(), Of: r.PathValue("id")})
}

// policyOf returns what a page may load, and who may show it in a frame.
func (p *Panel) policyOf(page string) string {
	framed := "'none'"
	if page == "embed" {
		framed = strings.Join(p.Embedders, " ")
	}
	return contentPolicy + "; frame-ancestors " + framed
}

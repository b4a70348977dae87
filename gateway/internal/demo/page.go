package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/panel"
)

//go:embed static
var static embed.FS

const (
	pageEvery  = time.Second / 2 // a view of it is sent
	pageWrite  = 5 * time.Second // a view may take to be sent
	pageGrace  = time.Second     // for viewers to hear of the end
	pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// page shows both ways in a browser, and takes what people are told. Its listener
// is of this machine only.
type page struct {
	listener net.Listener
	server   *http.Server
	template *template.Template
	told     told
	quit     chan struct{}
	served   chan struct{} // nil: not begun
}

// openPage opens the listener.
func openPage() (*page, error) {
	t, err := parsePage()
	if err != nil {
		return nil, fmt.Errorf("demo: the page: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo: the page: %w", err)
	}
	return &page{listener: listener, template: t, quit: make(chan struct{})}, nil
}

func parsePage() (*template.Template, error) {
	marks, err := panel.File("templates/parts/marks.html")
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Parse(string(marks))
	if err != nil {
		return nil, err
	}
	return t.ParseFS(static, "static/*.html")
}

func (p *page) url() string { return "http://" + p.listener.Addr().String() }

// tellURL is where the gateway posts what people are told.
func (p *page) tellURL() string { return p.url() + tellPath }

const tellPath = "/told"

// serve answers until close, with what view returns.
func (p *page) serve(view func() view) {
	p.server = &http.Server{
		Handler:           p.handler(view),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		_ = p.server.Serve(p.listener) // it ends with close
	}()
}

// close tells viewers that it is over, and returns when nothing is served.
func (p *page) close() {
	close(p.quit)
	if p.served == nil {
		_ = p.listener.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pageGrace)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		_ = p.server.Close()
	}
	<-p.served
}

func (p *page) handler(view func() view) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		body, err := p.render("page", view())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) { p.stream(w, r, view) })
	mux.HandleFunc("GET /static/{file}", serveStatic)
	mux.Handle("POST "+tellPath, &p.told)
	return protect(mux)
}

// protect refuses a page of another site that has let its own name point to this
// machine, and lets the page load nothing from elsewhere.
func protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Cache-Control", "no-store")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil || !config.IsLoopback(host) {
			http.Error(w, "the demo is reached by a loopback address only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveStatic answers with a file of the page's own, or else of the panel's.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := "static/" + r.PathValue("file")
	body, err := static.ReadFile(name)
	if err != nil {
		body, err = panel.File(name)
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(body) //nolint:gosec // a file of this program
}

func (p *page) render(name string, v view) ([]byte, error) {
	var body bytes.Buffer
	err := p.template.ExecuteTemplate(&body, name, sheetOf(v))
	return body.Bytes(), err
}

// stream sends the page's main part again and again, and in the end a bye.
func (p *page) stream(w http.ResponseWriter, r *http.Request, view func() view) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	send := func(event string, data []byte) error {
		var frame bytes.Buffer
		fmt.Fprintf(&frame, "event: %s\n", event)
		for line := range bytes.Lines(data) {
			fmt.Fprintf(&frame, "data: %s\n", bytes.TrimRight(line, "\r\n"))
		}
		frame.WriteString("\n")
		err := to.SetWriteDeadline(time.Now().Add(pageWrite))
		_, failed := w.Write(frame.Bytes())
		return errors.Join(err, failed, to.Flush())
	}
	views := time.NewTicker(pageEvery)
	defer views.Stop()
	for over := false; ; {
		body, err := p.render("main", view())
		if err != nil || send("view", body) != nil {
			return
		}
		if over {
			_ = send("bye", []byte("the demo has ended"))
			return
		}
		select {
		case <-views.C:
		case <-p.quit:
			over = true
		case <-r.Context().Done():
			return
		}
	}
}

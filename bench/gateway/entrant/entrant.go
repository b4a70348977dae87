// Package entrant starts the gateways that take part in a comparison: Recloser
// with its defaults, rivals with the best settings for the job, and a reverse
// proxy that does nothing else. Each is a process of its own on free ports.
package entrant

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/template"
)

// Hotel is a partner behind a gateway.
type Hotel struct {
	ID, Address string
	Name        string // for people; "" is its ID
}

// Kind is a gateway that can take part.
type Kind struct {
	Name string
	// Asks says whether it asks all hotels itself.
	Asks bool

	file    string // template of its configuration; "" is none
	command func(t Tools, s setting) []string
}

// setting is what templates and commands are filled with.
type setting struct {
	Dir, File          string
	Port, Spare, Admin int
	ProbePath          string
	Root, Storage      bool
	Hotels             []Hotel
}

func (s setting) listen() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

//go:embed templates
var templates embed.FS

// Recloser is ours. One configuration for everything: the defaults.
func Recloser() Kind {
	return Kind{Name: "Recloser", Asks: true, file: "recloser.yaml", command: func(t Tools, s setting) []string {
		return []string{t.Recloser, "serve", "-c", s.File, "--listen", s.listen(), "--admin-listen", "127.0.0.1:" + strconv.Itoa(s.Admin)}
	}}
}

// Bare is httputil.ReverseProxy with a BufferPool and nothing else. It knows one
// hotel, the first.
func Bare() Kind {
	return Kind{Name: "bare", command: func(t Tools, s setting) []string {
		return []string{t.Bare, "-listen", s.listen(), "-to", s.Hotels[0].Address}
	}}
}

// Rivals are the gateways of others.
func Rivals() []Kind {
	return []Kind{
		{Name: "nginx", file: "nginx.conf", command: func(_ Tools, s setting) []string {
			return []string{"nginx", "-p", s.Dir, "-c", s.File, "-e", filepath.Join(s.Dir, "nginx.log")}
		}},
		{Name: "HAProxy", file: "haproxy.cfg", command: func(_ Tools, s setting) []string {
			return []string{"haproxy", "-db", "-q", "-f", s.File}
		}},
		{Name: "Caddy", file: "Caddyfile", command: func(t Tools, s setting) []string {
			return []string{t.Caddy, "run", "--adapter", "caddyfile", "--config", s.File}
		}},
	}
}

// Gateway is one that runs.
type Gateway struct {
	Kind
	URL, AdminURL string // AdminURL is Recloser's
	PID           int
	child         *child
	setting       setting
}

// Options are how a gateway is started.
type Options struct {
	Dir       string // for its files, its own; made if it is not there
	ProbePath string
	Hotels    []Hotel
	Storage   bool   // Recloser keeps its history in a file
	CPU       string // pinned to these processors, such as "0"; "" is not
}

// tries is how often a gateway is started: a port that was free may be taken
// before it listens.
const tries = 3

// Start starts a gateway and returns once it passes calls on to the first hotel.
func (k Kind) Start(t Tools, o Options) (g *Gateway, err error) {
	for range tries {
		if g, err = k.start(t, o); err == nil {
			return g, nil
		}
	}
	return nil, fmt.Errorf("start %s: %w", k.Name, err)
}

func (k Kind) start(t Tools, o Options) (*Gateway, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	s := setting{
		Dir: o.Dir, Port: ports[0], Spare: ports[1], Admin: ports[2],
		ProbePath: o.ProbePath, Hotels: o.Hotels, Root: os.Getuid() == 0, Storage: o.Storage,
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return nil, err
	}
	if k.file != "" {
		s.File = filepath.Join(s.Dir, k.file)
		if err := s.write(k.file); err != nil {
			return nil, err
		}
	}
	command := k.command(t, s)
	if o.CPU != "" {
		command = append([]string{"taskset", "-c", o.CPU}, command...)
	}
	c, err := startChild(exec.Command(command[0], command[1:]...), filepath.Join(s.Dir, "output"))
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		Kind: k, URL: "http://" + s.listen(), AdminURL: "http://127.0.0.1:" + strconv.Itoa(s.Admin),
		PID: c.cmd.Process.Pid, child: c, setting: s,
	}
	if err := c.awaitAnswer(g.HotelURL(o.Hotels[0].ID, o.ProbePath)); err != nil {
		c.stop()
		return nil, err
	}
	return g, nil
}

// write fills in the configuration.
func (s setting) write(name string) error {
	t, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return err
	}
	return os.WriteFile(s.File, b.Bytes(), 0o600)
}

// HotelURL is where a path of a hotel is found through this gateway.
func (g *Gateway) HotelURL(id, path string) string {
	if g.file == "" {
		return g.URL + path
	}
	return g.URL + "/hotels/" + id + path
}

// Rewrite writes its configuration anew, with these hotels. The gateway is not
// told.
func (g *Gateway) Rewrite(hotels []Hotel) error {
	s := g.setting
	s.Hotels = hotels
	return s.write(g.file)
}

// Stop ends it: politely, and after a while not.
func (g *Gateway) Stop() { g.child.stop() }

// Ended reports what it said if it has ended by itself.
func (g *Gateway) Ended() error { return g.child.ended() }

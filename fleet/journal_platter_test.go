package fleet_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"

	"github.com/recloser-go/recloser/fleet"
)

// A platter is a disk in memory that tests make hang, fail and crash. It knows what is
// there for good, and what only those see who look before the machine stops.
type platter struct {
	mu    sync.Mutex
	files map[string]*content // as programs see them
	kept  map[string]*content // the names that are there for good
	gate  chan struct{}       // nil, or closed when it goes on
	fail  func(op string, b []byte) (int, error)
	ops   []string
}

type content struct {
	data   []byte
	synced int // bytes that are there for good
}

func newPlatter(files map[string][]byte) *platter {
	p := &platter{files: map[string]*content{}, kept: map[string]*content{}}
	for name, data := range files {
		p.files[name] = &content{data: bytes.Clone(data), synced: len(data)}
		p.kept[name] = p.files[name]
	}
	return p
}

// hang makes all that it does wait, until go on is called.
func (p *platter) hang() (goOn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// fails has f decide how an operation goes: how many of the bytes are written, and the error.
func (p *platter) fails(f func(op string, b []byte) (int, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = f
}

// did counts how often something was done.
func (p *platter) did(op string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.ops {
		if o == op {
			n++
		}
	}
	return n
}

// do does one operation with the lock, unless it fails; then the bytes that went
// through may still be done.
func (p *platter) do(op string, b []byte, f func(b []byte)) error {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ops = append(p.ops, op)
	if p.fail != nil {
		if n, err := p.fail(op, b); err != nil {
			if op == "write" {
				f(b[:n])
			}
			return err
		}
	}
	f(b)
	return nil
}

func (p *platter) Read(name string) (b []byte, err error) {
	done := p.do("read", nil, func([]byte) {
		if c := p.files[name]; c != nil {
			b = bytes.Clone(c.data)
		} else {
			err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	})
	return b, errors.Join(done, err)
}

func (p *platter) Create(name string) (h fleet.File, err error) {
	err = p.do("create", nil, func([]byte) {
		p.files[name] = &content{}
		h = &handle{p, p.files[name]}
	})
	return h, err
}

func (p *platter) Open(name string) (h fleet.File, err error) {
	err = p.do("open", nil, func([]byte) { h = &handle{p, p.files[name]} })
	return h, err
}

func (p *platter) Rename(from, to string) error {
	rename := func([]byte) {
		if c := p.files[from]; c != nil {
			p.files[to] = c
			delete(p.files, from)
		}
	}
	if err := p.do("rename", nil, rename); err != nil {
		return err
	}
	return p.do("sync the folder", nil, func([]byte) { p.kept = maps.Clone(p.files) })
}

func (p *platter) Unlock() { _ = p.do("unlock", nil, func([]byte) {}) }

type handle struct {
	*platter
	content *content
}

func (h *handle) Write(b []byte) (int, error) {
	n := 0
	err := h.do("write", b, func(b []byte) { h.content.data = append(h.content.data, b...); n = len(b) })
	return n, err
}

func (h *handle) Sync() error {
	return h.do("sync", nil, func([]byte) { h.content.synced = len(h.content.data) })
}

func (h *handle) Close() error { return nil }

// crash returns what the disk holds after the machine stopped: of what was not synced
// anything may be there, or zeros, or something else.
func (p *platter) crash(r *rand.Rand) *platter {
	p.mu.Lock()
	defer p.mu.Unlock()
	files := map[string][]byte{}
	for name, c := range p.kept {
		if name != "journal" && name != "journal.damaged" {
			continue // nobody looks at it
		}
		if now := p.files[name]; now != nil && r.IntN(2) == 0 {
			c = now // renamed, and the folder was written by chance
		}
		data := bytes.Clone(c.data[:c.synced])
		tail := bytes.Clone(c.data[c.synced:])
		tail = tail[:r.IntN(len(tail)+1)]
		if len(tail) > 0 && r.IntN(2) == 0 {
			tail[r.IntN(len(tail))] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			clear(tail)
		}
		files[name] = append(data, tail...)
	}
	return newPlatter(files)
}

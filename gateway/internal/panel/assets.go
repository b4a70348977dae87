package panel

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed static
var static embed.FS

const assetsPath = "/static/"

// assets are files that browsers load, each under a name that changes with its
// content, so that they may be kept for ever.
type assets struct {
	names map[string]string // "panel.css" -> "/static/panel-1a2b3c4d.css"
	files map[string]asset  // by path
}

type asset struct {
	kind          string
	body, gzipped []byte
}

// imported finds what a module imports: import { a } from './b.js'.
var imported = regexp.MustCompile(`from '\./([a-z-]+\.js)'`)

func newAssets() (*assets, error) {
	a := &assets{names: make(map[string]string), files: make(map[string]asset)}
	return a, fs.WalkDir(static, "static", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) == ".md" {
			return err
		}
		_, err = a.add(strings.TrimPrefix(file, "static/"), nil)
		return err
	})
}

// add takes in a file of static and returns its address. What it imports is taken
// in before, as those addresses are part of its content.
func (a *assets) add(name string, importers []string) (string, error) {
	if address, ok := a.names[name]; ok {
		return address, nil
	}
	if slices.Contains(importers, name) {
		return "", fmt.Errorf("%s imports itself, by %s", name, strings.Join(importers, ", "))
	}
	body, err := static.ReadFile("static/" + name)
	if err != nil {
		return "", err
	}
	for _, found := range imported.FindAllSubmatch(body, -1) {
		address, err := a.add(string(found[1]), append(importers, name))
		if err != nil {
			return "", err
		}
		body = bytes.ReplaceAll(body, found[0], []byte("from '"+address+"'"))
	}
	ext := path.Ext(name)
	address := fmt.Sprintf("%s%s-%.8x%s", assetsPath, strings.TrimSuffix(name, ext), sha256.Sum256(body), ext)
	gzipped, err := compress(body, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	a.names[name] = address
	a.files[address] = asset{kind: mime.TypeByExtension(ext), body: body, gzipped: gzipped}
	return address, nil
}

// address is for templates: asset "panel.css".
func (a *assets) address(name string) (string, error) {
	if address, ok := a.names[name]; ok {
		return address, nil
	}
	return "", fmt.Errorf("no file %q in static", name)
}

// ServeHTTP implements http.Handler.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	write(w, r, http.StatusOK, file.body, file.gzipped)
}

// write answers with a body, or with its short form for those who take it.
func write(w http.ResponseWriter, r *http.Request, status int, body, gzipped []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if gzipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = gzipped
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func compress(body []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil, err
	}
	if _, err := zip.Write(body); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

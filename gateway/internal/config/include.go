package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

const maxIncluded = 1000 // files

// included is a file with more dependencies and routes, and what is written in it.
type included struct {
	reader  *reader
	written map[string]ast.Node
}

// includes reads the list of patterns and opens the files they name.
func (c *Config) includes() value {
	return items("list", object{"type": "string", "minLength": 1}, &c.Include, func(r *reader, n ast.Node, pattern string) (string, bool) {
		files, ok := r.matches(n, pattern)
		for _, file := range files {
			c.include(r, n, file)
		}
		return pattern, ok
	}, func(s string) string { return s })
}

// matches returns the files of a pattern, in the order of their names.
func (r *reader) matches(n ast.Node, pattern string) ([]string, bool) {
	path := r.besides(pattern)
	r.sources = append(r.sources, seenPattern(path))
	files, err := filepath.Glob(path)
	switch {
	case err != nil:
		r.fault(n, "write a path such as hotels/*.yaml", "%q is not a pattern of paths", pattern)
		return nil, false
	case len(files) == 0 && strings.ContainsAny(pattern, "*?["):
		r.warn(n, "no file is named like %s", pattern)
	case len(files) == 0:
		r.fault(n, "create it, or correct the path, which is seen from the folder of this file", "there is no file %s", pattern)
		return nil, false
	}
	return files, true
}

func (c *Config) include(r *reader, n ast.Node, file string) {
	if slices.ContainsFunc(r.included, func(f included) bool { return f.reader.file == file }) {
		return // two patterns fit
	}
	if len(r.included) == maxIncluded {
		r.fault(n, "put more into each", "more than %d files are included", maxIncluded)
		return
	}
	if sameFile(file, r.file) {
		r.fault(n, "put the files to include into a folder of their own", "the file would include itself")
		return
	}
	data, err := readFile(file, maxSize)
	if err != nil {
		r.fault(n, "correct its permissions or the path", "%s cannot be read: %v", file, withoutPath(err))
		return
	}
	in, body := r.open(file, data, "write dependencies: or routes:")
	in.by = r
	f := included{reader: in}
	if body != nil {
		in.hideSecrets(body)
		f.written = in.known(body, slices.DeleteFunc(c.contentKeys(), func(k key) bool { return k.name != "dependencies" && k.name != "routes" }))
	}
	r.included = append(r.included, f)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// withoutPath is the reason of a fault of a file. The path may be a secret that
// was written where one belongs.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// readConfig reads what may also be no file, but what a shell makes of <(...).
func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1)) // enough to show that it is too large
}

// readFile reads a file that the config names, up to a byte more than most. A
// device or a pipe might never end.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) //nolint:gosec // the config says which file it means
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path) //nolint:gosec // likewise
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

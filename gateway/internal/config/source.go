package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// source is a file that a config says something by, or a pattern of such files.
type source struct {
	path  string
	look  func(path string) string
	stamp string // what look returned just before it was read
}

func seenFile(path string) source       { return source{path, stampOf, stampOf(path)} }
func seenPattern(pattern string) source { return source{pattern, matching, matching(pattern)} }

// stampOf returns what changes whenever a file does, or the right to read it. What is
// no file, such as a pipe, is read only once.
func stampOf(path string) string {
	info, err := os.Stat(path) //nolint:gosec // the config says which file it means
	switch {
	case err != nil:
		return "not there"
	case !info.Mode().IsRegular():
		return "no file"
	}
	f, err := os.Open(path) //nolint:gosec // the config says which file it means
	if err == nil {
		_ = f.Close()
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), err == nil)
}

// matching returns what changes whenever one of the files of a pattern does, or
// another one fits.
func matching(pattern string) string {
	var all strings.Builder
	files, _ := filepath.Glob(pattern) // one that is no pattern fits nothing
	for _, file := range files {
		fmt.Fprintf(&all, "%q %s ", file, stampOf(file))
	}
	return all.String()
}

// Stamps returns what the files that c was read from, and those it includes, were like
// just before that, and what they are like now: the same text if nothing has changed.
func (c *Config) Stamps() (read, now string) {
	var was, is strings.Builder
	for _, s := range c.sources {
		fmt.Fprintf(&was, "%q %s\n", s.path, s.stamp)
		fmt.Fprintf(&is, "%q %s\n", s.path, s.look(s.path))
	}
	return was.String(), is.String()
}

package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: no input makes Parse panic, every fault is inside the file, and
// what is accepted can be served.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good.yaml", "testdata/bad/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz.yaml", data)
		if err == nil {
			checkServable(t, c)
			if again, err := Parse("fuzz.yaml", data); err != nil || !again.Equal(c) {
				t.Errorf("read twice it differs: %v", err)
			}
			return
		}
		faults, ok := errors.AsType[Errors](err)
		if !ok || len(faults) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		lines := splitLines(string(data))
		for _, f := range faults {
			if f.Line < 1 || f.Line > len(lines) || f.Column < 1 || f.Column > len([]rune(lines[f.Line-1]))+1 {
				t.Errorf("not in the file: %v", f)
			}
		}
		_ = faults.Detail()
	})
}

func checkServable(t *testing.T, c *Config) {
	t.Helper()
	if len(c.Dependencies) == 0 || len(c.Routes) == 0 {
		t.Fatalf("nothing to serve: %+v", c)
	}
	ids := make(map[string]bool)
	for _, d := range c.Dependencies {
		if d.URL == nil || d.URL.Host == "" || d.AttemptTimeout <= 0 || d.AttemptTimeout > d.Timeout || ids[d.ID] {
			t.Errorf("%+v", d)
		}
		if err := d.Settings.Validate(); err != nil {
			t.Error(err)
		}
		ids[d.ID] = true
	}
	for _, r := range c.Routes {
		if r.Dependency != "" && !ids[r.Dependency] || r.Ask != nil && r.Ask.Condition == nil {
			t.Errorf("%+v", r)
		}
	}
}

package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadToken(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("RECLOSER_TOKEN", "")
	write := func(name, content string) string {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	want := func(file, token string) {
		t.Helper()
		if got, err := ReadToken(file); err != nil || got != token {
			t.Errorf("%v: %q, want %q", err, got, token)
		}
	}
	want("", "")
	write("recloser/token", "of_home\n")
	want("", "of_home")
	t.Setenv("RECLOSER_TOKEN", " of_env ")
	want("", "of_env")
	want(write("mine", "of_file\n"), "of_file")

	for name, content := range map[string]string{"empty": "\n", "config": "listen: s3cret\nadmin: x\n", "long": strings.Repeat("s3cret", 1000), "binary": "s3cret\x00"} {
		_, err := ReadToken(write(name, content))
		wantError(t, err, Usage, name+" holds no token")
		if e := errorOf(t, err, Usage); strings.Contains(e.Error(), "s3cret") {
			t.Errorf("%q shows it", e)
		}
	}
	_, err := ReadToken(filepath.Join(home, "missing"))
	wantError(t, err, Usage, "the token cannot be read", "missing")
}

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file and its folder.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	oneDependency = "dependencies: { a: { url: http://a.example } }\n"
	oneRoute      = "routes: [ { path: '/{dependency}/*' } ]\n"
)

// What stands in several files is one config, in the order of the files.
func TestInclude(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "etc/hotels/2.yaml", "# none yet\nroutes:\n- path: /b2\n  dependency: b\n")
	write(t, "etc/hotels/1.yaml", "dependencies:\n  b:\n    url: http://b.example\n")
	write(t, "etc/more.yaml", "dependencies: { c: { url: http://c.example, timeout: 1s } }\n")
	write(t, "etc/recloser.yaml", "routes: [ { path: /c, dependency: c } ]\ninclude: [ 'hotels/*.yaml', more.yaml, 'm*.yaml' ]\ndefaults: { timeout: 2s }\n"+oneDependency)
	c, err := Load("etc/recloser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range c.Dependencies {
		got = append(got, d.ID+" "+d.Timeout.String())
	}
	for _, r := range c.Routes {
		got = append(got, r.Path)
	}
	if got, want := strings.Join(got, ", "), "a 2s, b 2s, c 1s, /c, /b2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, s := range c.Show() {
		if s.Path == "dependencies.c.timeout" && s.Origin != "etc/more.yaml:1" || s.Path == "dependencies.b.timeout" && s.Origin != "etc/recloser.yaml:3" {
			t.Errorf("%+v", s)
		}
	}
}

// Every fault names the file it is in.
func TestIncludeFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "x/wrong.yaml", "dependencies:\n  b: { url: http://b.example, timout: 1s }\n")
	write(t, "x/twice.yaml", "routes: []\ndependencies:\n  a: { url: http://b.example }\n")
	write(t, "x/path.yaml", "routes: [ { path: '/{dependency}/*' } ]\n")
	write(t, "x/nested.yaml", "include: [ more.yaml ]\nlisten: ':1'\ncolour: red\n")
	write(t, "x/empty.yaml", "\n")
	write(t, "x/tab.yaml", "routes:\n\t- path: /\n")
	write(t, "x/secret.yaml", "alerts: { teams: [ { url: SECRET } ] }\n")
	write(t, "x/folder/file", "")
	write(t, "x/none.yaml", "routes: []\n")
	write(t, "x/bad.yaml", "routes: [ 1 ]\n")
	for _, c := range []struct{ include, want string }{
		{"wrong.yaml", `x/wrong.yaml:2:31: unknown key "timout"; did you mean "timeout"?`},
		{"twice.yaml", `x/twice.yaml:3:3: dependency "a" is written twice; the first is at x/main.yaml:2; remove or rename one`},
		{"path.yaml", `x/path.yaml:1:19: path /{dependency}/* is written twice; the first is at x/main.yaml:3; remove or change one`},
		{"nested.yaml", "x/nested.yaml:1:1: an included file has only dependencies and routes, not \"include\"; write it in x/main.yaml\n" +
			"x/nested.yaml:2:1: an included file has only dependencies and routes, not \"listen\"; write it in x/main.yaml\n" +
			"x/nested.yaml:3:1: an included file has only dependencies and routes, not \"colour\"; write it in x/main.yaml"},
		{"empty.yaml", "x/empty.yaml:1:1: the file is empty; write dependencies: or routes:"},
		{"tab.yaml", "x/tab.yaml:2:1: a tab in the indentation; indent with spaces"},
		{"secret.yaml", `x/secret.yaml:1:1: an included file has only dependencies and routes, not "alerts"; write it in x/main.yaml`},
		{"not-there.yaml", `x/main.yaml:1:12: there is no file not-there.yaml; create it, or correct the path, which is seen from the folder of this file`},
		{"folder", "x/main.yaml:1:12: x/folder cannot be read: it is not a file; correct its permissions or the path"},
		{"'[.yaml'", `x/main.yaml:1:12: "[.yaml" is not a pattern of paths; write a path such as hotels/*.yaml`},
		{"main.yaml", "x/main.yaml:1:12: the file would include itself; put the files to include into a folder of their own"},
	} {
		write(t, "x/main.yaml", "include: [ "+c.include+" ]\n"+oneDependency+oneRoute)
		_, err := Load("x/main.yaml")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got\n%v\nwant\n%s", c.include, err, c.want)
		}
		if faults, _ := err.(Errors); strings.Contains(faults.Detail(), "SECRET") { //nolint:errorlint // it is, or the test failed above
			t.Errorf("shown: %s", faults.Detail())
		}
	}
	for name, want := range map[string]string{
		"include: [ none.yaml ]\n" + oneDependency: "x/main.yaml:1:1: the file has no routes; add one, such as - path: /{dependency}/*",
		"include: [ bad.yaml ]\n" + oneDependency:  "x/bad.yaml:1:11: here must be a mapping with ",
		"include: []\n" + oneDependency + oneRoute: "x/main.yaml:1:10: the list is empty; write at least one item or remove the key",
	} {
		write(t, "x/main.yaml", name)
		if _, err := Load("x/main.yaml"); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// A pattern that fits nothing is allowed: files may come later.
func TestIncludeOfNothingIsAWarning(t *testing.T) {
	c, err := Parse("x.yaml", []byte("include: [ 'none/*.yaml' ]\n"+oneDependency+oneRoute))
	if err != nil || len(c.Warnings) != 1 || c.Warnings[0] != "x.yaml:1:12: no file is named like none/*.yaml" {
		t.Errorf("%+v %v", c, err)
	}
}

// A stamp is another one when a file is changed, comes or goes.
func TestStamp(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "x.yaml", "include: [ 'more/*.yaml' ]\nalerts: { teams: [ { url: 'file:teams.url' } ] }\n"+oneDependency+oneRoute)
	write(t, "teams.url", "https://hook.example/1")
	c, err := Load("x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read, before := c.Stamps()
	if read != before {
		t.Fatalf("read %s, and now %s, and nothing was changed", read, before)
	}
	for _, change := range []func(){
		func() { write(t, "more/b.yaml", "routes: []") },
		func() { write(t, "more/b.yaml", "routes: [ ]") },
		func() { write(t, "teams.url", "https://hook.example/10") },
		func() { write(t, "x.yaml", "") },
		func() { _ = os.Remove("more/b.yaml") },
	} {
		change()
		if _, now := c.Stamps(); now == before {
			t.Errorf("unchanged: %s", now)
		} else {
			before = now
		}
	}
}

// Whoever mends what a config was refused for need not touch another file.
func TestStampOfARefusedConfig(t *testing.T) {
	const secret = "alerts: { teams: [ { url: 'file:teams.url' } ] }\n"
	for _, c := range []struct{ name, file, mended, text string }{
		{"there is no file", "", "x.yaml", oneDependency + oneRoute},
		{"a mistake", "listne: x\n" + oneDependency + oneRoute, "x.yaml", oneDependency + oneRoute},
		{"a secret is missing", secret + oneDependency + oneRoute, "teams.url", "https://hook.example"},
		{"a secret is wrong", "include: [ more.yaml ]\n" + secret + oneDependency + oneRoute, "teams.url", "https://hook.example"},
		{"an included file is missing", "include: [ later.yaml ]\n" + oneDependency + oneRoute, "later.yaml", "routes: []"},
		{"an included file is wrong", "include: [ more.yaml, 'w*.yaml' ]\n" + oneDependency + oneRoute, "wrong.yaml", "routes: [ ]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if c.file != "" {
				write(t, "x.yaml", c.file)
			}
			write(t, "more.yaml", "routes: []")
			write(t, "wrong.yaml", "routs: []")
			if c.name == "a secret is wrong" {
				write(t, "teams.url", "nowhere")
			}
			refused, err := Load("x.yaml")
			if err == nil {
				t.Fatal("it is not refused")
			}
			if read, now := refused.Stamps(); read != now {
				t.Errorf("read %s, and now %s, and nothing was changed", read, now)
			}
			write(t, c.mended, c.text)
			if read, now := refused.Stamps(); read == now {
				t.Errorf("unchanged: %s", now)
			}
			if _, err := Load("x.yaml"); err != nil {
				t.Errorf("it is not mended: %v", err)
			}
		})
	}
}

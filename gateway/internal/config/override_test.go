package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// A flag goes before the environment, the environment before the file, and the
// file before the default.
func TestOverrides(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	write(t, file, "listen: ':1001'\nadmin: { listen: '127.0.0.1:1002' }\n"+oneDependency+oneRoute)
	t.Setenv("RECLOSER_LISTEN", ":2001")
	t.Setenv("RECLOSER_ADMIN_LISTEN", "127.0.0.1:2002")
	t.Setenv("RECLOSER_STORAGE", "")
	flags := []Override{{"listen", ":3001", "flag --listen"}, {"storage", "off", "flag --storage"}}
	for _, c := range []struct {
		overrides []Override
		want      string
	}{
		{nil, ":1001 " + file + ":1, 127.0.0.1:1002 " + file + ":2, " + strings.TrimSuffix(file, ".yaml") + ".db default"},
		{Environment(), ":2001 environment RECLOSER_LISTEN, 127.0.0.1:2002 environment RECLOSER_ADMIN_LISTEN, " + strings.TrimSuffix(file, ".yaml") + ".db default"},
		{append(Environment(), flags...), ":3001 flag --listen, 127.0.0.1:2002 environment RECLOSER_ADMIN_LISTEN, off flag --storage"},
	} {
		config, err := Load(file, c.overrides...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range config.Show() {
			if s.Path == "listen" || s.Path == "admin.listen" || s.Path == "storage" {
				got = append(got, s.Value+" "+s.Origin)
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.overrides, got, c.want)
		}
		if config.Listen != strings.Fields(c.want)[0] || strings.Contains(c.want, "off flag") != (config.Storage.Path == "") {
			t.Errorf("%v: %+v", c.overrides, config)
		}
	}
}

// A path from outside is seen from where the process runs, not from the file.
func TestOverrideOfPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	write(t, file, oneDependency+oneRoute)
	c, err := Load(file, Override{"storage", "data/x.db", "run/of/somebody"})
	if err != nil || c.Storage.Path != "data/x.db" {
		t.Errorf("%+v %v", c, err)
	}
}

func TestOverrideFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	write(t, file, oneDependency+oneRoute)
	for _, c := range []struct {
		override Override
		want     string
	}{
		{Override{"listen", "8080", "flag --listen"}, `flag --listen:1:1: "8080" is a port without an address; write ":8080"`},
		{Override{"listen", "127.0.0.1:8081", "flag --listen"}, `flag --listen:1:1: listen and admin.listen are both 127.0.0.1:8081; give each a port of its own`},
		{
			Override{"admin.listen", ":8081", "environment RECLOSER_ADMIN_LISTEN"},
			`environment RECLOSER_ADMIN_LISTEN:1:1: admin.listen ":8081" can be reached from other machines, and anybody there could act: there is no sign-in; ` +
				`write "127.0.0.1:8081", or sign_in: true and make a token with recloser token create`,
		},
		{Override{"admin.colour", "x", "y"}, "y:1:1: there is no setting admin.colour"},
		{Override{"x.y", "x", "y"}, "y:1:1: there is no setting x.y"},
	} {
		_, err := Load(file, c.override)
		if err == nil || err.Error() != c.want {
			t.Errorf("got\n%v\nwant\n%s", err, c.want)
		}
	}
}

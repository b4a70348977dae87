package deploytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// ruleTests are the tests of the rules.
var ruleTests = []string{deploy + "prometheus/recloser.tests.yml", deploy + "prometheus/recloser.day.tests.yml"}

// Each program says that the file which is for it is right.
func TestPrograms(t *testing.T) {
	unit := filepath.Join(t.TempDir(), "recloser.service")
	write(t, unit, replace(t, read(t, deploy+"systemd/recloser.service"), "/usr/local/bin/recloser", binary))
	for _, c := range [][]string{
		{"promtool", "check", "rules", deploy + "prometheus/recloser.rules.yml"},
		{"promtool", "test", "rules", ruleTests[0], ruleTests[1]},
		{"amtool", "check-config", deploy + "compose/alertmanager.yml"},
		{"systemd-analyze", "verify", "--man=no", unit},
		{"systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit}, // of 100: what it may do
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			if out, err := run(t, c[0], c[1:]...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestPrometheusTakesTheExample(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	token := filepath.Join(dir, "token")
	write(t, token, "rcl_x")
	write(t, filepath.Join(dir, "recloser.rules.yml"), read(t, deploy+"prometheus/recloser.rules.yml"))
	write(t, file, replace(t, read(t, deploy+"compose/prometheus.yml"), "/run/secrets/prometheus-token", token))
	if out, err := run(t, "promtool", "check", "config", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The gateway takes the config of the example. Its one warning is about tokens that
// are not encrypted, which do not leave the machine there.
func TestGatewayTakesTheExample(t *testing.T) {
	c, err := config.Load(deploy + "compose/recloser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(fmt.Sprint(c.Warnings), "admin.listen") {
		t.Errorf("warnings %q", c.Warnings)
	}
	if !c.Admin.SignIn || !strings.Contains(read(t, deploy+"compose/prometheus.yml"), strings.TrimPrefix(c.Admin.URL, "http://")) {
		t.Error("Prometheus does not ask for the host of admin.url, and is refused")
	}
}

// A metric's exposition follows the rules that Prometheus has for names.
func TestNamesFollowTheRules(t *testing.T) {
	g := startGateway(t)
	file := filepath.Join(t.TempDir(), "metrics")
	write(t, file, get(t, g.admin+"/metrics"))
	if out, err := run(t, "sh", "-c", "promtool check metrics <"+file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every alert has a test in which it fires, and a place in the runbook.
func TestAlertsAreTestedAndExplained(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, file := range ruleTests {
		var content struct {
			Tests []struct {
				Rules []struct {
					Name   string `yaml:"alertname"`
					Alerts []any  `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &content); err != nil {
			t.Fatal(err)
		}
		for _, test := range content.Tests {
			for _, r := range test.Rules {
				fires[r.Name] = fires[r.Name] || len(r.Alerts) > 0
				silent[r.Name] = silent[r.Name] || len(r.Alerts) == 0
			}
		}
	}
	const site = "https://github.com/recloser-go/recloser/blob/main/"
	alerts := 0
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		alerts++
		if !fires[r.Alert] {
			t.Errorf("no test has %s fire", r.Alert)
		}
		if !silent[r.Alert] && r.Alert != "RecloserFlapping" { // of which the same test has one that is silent
			t.Errorf("no test has %s silent", r.Alert)
		}
		file, anchor, _ := strings.Cut(strings.TrimPrefix(r.Annotations["runbook_url"], site), "#")
		if !slices.Contains(anchors(t, "../../"+file), anchor) {
			t.Errorf("%s: %s has no section %q", r.Alert, file, anchor)
		}
		if !strings.Contains(read(t, "../../docs/guides/runbook.md"), "`"+r.Alert+"`") {
			t.Errorf("the runbook does not name %s", r.Alert)
		}
	}
	if alerts < 10 {
		t.Errorf("only %d alerts", alerts)
	}
}

// anchors returns what a link into a Markdown file can end in, as GitHub makes it of headings.
func anchors(t *testing.T, file string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(read(t, file), -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(kept, " ", "-"))
	}
	return all
}

// What the guides link to is there.
func TestLinks(t *testing.T) {
	for _, file := range []string{
		deploy + "README.md", "../../docs/guides/install.md", "../../docs/guides/first-partner.md", "../../docs/guides/runbook.md",
	} {
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(read(t, file), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			there := file
			if target != "" {
				there = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(there); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if anchor != "" && !slices.Contains(anchors(t, there), anchor) {
				t.Errorf("%s: %s has no section %s", file, target, anchor)
			}
		}
	}
}

// The image has no root, no shell and nothing that is built elsewhere.
func TestDockerfile(t *testing.T) {
	text := read(t, deploy+"docker/Dockerfile")
	_, image, _ := strings.Cut(text, "\nFROM scratch\n")
	for _, line := range []string{
		"USER 65532:65532", "COPY --from=build --chown=65532:65532 /state /var/lib/recloser", "VOLUME /var/lib/recloser", `ENTRYPOINT ["/recloser"]`,
	} {
		if !strings.Contains(image, "\n"+line+"\n") {
			t.Errorf("the image is made without %s", line)
		}
	}
	for line := range strings.Lines(image) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "RUN" || word == "ADD":
			t.Errorf("%s in the image itself", line)
		case word == "COPY" && !strings.HasPrefix(rest, "--from=build "):
			t.Errorf("%s is not from the build", line)
		}
	}
	if !strings.Contains(text, "ENV CGO_ENABLED=0 ") {
		t.Error("the program is not static")
	}
	build := regexp.MustCompile(`RUN go -C (\S+) build .* (\./\S+)\n`).FindStringSubmatch(text)
	if build == nil {
		t.Fatal("nothing is built")
	}
	if _, err := os.Stat(path.Join("../..", build[1], build[2], "main.go")); err != nil {
		t.Error(err)
	}
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))
	if !strings.Contains(text, "FROM golang:"+want[1]+"-") {
		t.Errorf("it is not built with Go %s", want[1])
	}
}

// Nothing that the build reads is left out of it.
func TestDockerignore(t *testing.T) {
	for line := range strings.Lines(read(t, deploy+"docker/Dockerfile.dockerignore")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "**/") {
			continue
		}
		if slices.Contains([]string{"gateway", "guard", "httpbreaker", "prombreaker", "internal", "scenario"}, line) {
			t.Errorf("%s is needed", line)
		}
	}
}

// What the compose file names in folders is there, and each service is kept small.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image    string
			ReadOnly bool     `yaml:"read_only"`
			CapDrop  []string `yaml:"cap_drop"`
			Volumes  []string
			Ports    []string
			Secrets  []string
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	if err := yaml.UnmarshalWithOptions([]byte(read(t, deploy+"compose/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"recloser", "prometheus", "alertmanager", "grafana"} {
		s, ok := file.Services[name]
		if !ok || !slices.Equal(s.CapDrop, []string{"ALL"}) || !s.ReadOnly && name != "grafana" {
			t.Errorf("%s: %+v", name, s)
		}
		if name != "recloser" && !regexp.MustCompile(`:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, named := file.Volumes[from]; named {
				continue
			}
			if _, err := os.Stat(deploy + "compose/" + from); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") && port != "8080:8080" {
				t.Errorf("%s: %s is open to everybody", name, port)
			}
		}
		for _, secret := range s.Secrets {
			if _, ok := file.Secrets[secret]; !ok {
				t.Errorf("%s: no secret %s", name, secret)
			}
		}
	}
}

// No secret gets into the repository by the folder that is for them.
func TestSecretsAreIgnored(t *testing.T) {
	entries, err := os.ReadDir(deploy + "compose/secrets")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if len(entries) == 0 || !strings.HasPrefix(read(t, deploy+"compose/secrets/.gitignore"), "*\n") {
		t.Error("git does not leave out what is in deploy/compose/secrets")
	}
}

// Grafana has no place for two panels at one spot.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 && p.Type != "row" {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s stands out", p.Title)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Errorf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

package deploytest

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

const guides = "../../docs/guides/"

// commands returns the lines of a guide's shell blocks, also those in lists, that
// begin with "recloser".
func commands(t *testing.T, file string) (all [][]string) {
	t.Helper()
	word := regexp.MustCompile(`"[^"]*"|\S+`)
	for _, block := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindAllStringSubmatch(read(t, file), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "recloser ") || strings.Contains(line, " serve ") || strings.Contains(line, ">") {
				continue
			}
			var words []string
			for _, w := range word.FindAllString(line, -1)[1:] {
				words = append(words, strings.Trim(w, `"`))
			}
			all = append(all, words)
		}
	}
	return all
}

// Every command of the guides, in their order, is one that the gateway takes.
func TestCommandsOfTheGuides(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "recloser.yaml")
	write(t, filepath.Join(dir, "outage.scenario"), "0s every 50ms for 2s: call -> ok in 20ms\n3s expect closed\n")
	hotel := gatewaytest.NewDependency(gatewaytest.Yes()).Listen(t)
	write(t, file, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies:
  aurora: { url: "`+hotel+`", group: coast }
routes:
  - path: /hotels/{dependency}/*
`)
	said := start(t, binary, "serve", "-c", file, "--log-format", "json")
	t.Setenv("RECLOSER_SERVER", "http://"+await(t, said, `"msg":"serving".*"admin":"([^"]+)"`))
	const tooLate = "trial aurora --reason they say it is mended" // aurora is not open
	n := 0
	for _, guide := range []string{"runbook.md", "first-partner.md", "install.md"} {
		for _, words := range commands(t, guides+guide) {
			n++
			line := strings.Join(words, " ")
			for i, w := range words {
				switch {
				case strings.HasSuffix(w, "recloser.yaml"):
					words[i] = file
				case strings.HasPrefix(w, "url="): // nobody out there is called
					words[i] = "url=" + hotel
				}
			}
			cmd := exec.CommandContext(t.Context(), binary, words...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			t.Logf("%s: %v\n%s", line, err, out)
			if err != nil && (line != tooLate || cmd.ProcessState.ExitCode() != 7) {
				t.Errorf("%s: recloser %s: %v\n%s", guide, line, err, out)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were found", n)
	}
}

// The configs of the guides are ones that the gateway takes.
func TestConfigsOfTheGuides(t *testing.T) {
	n := 0
	for _, guide := range []string{"runbook.md", "first-partner.md"} {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(read(t, guides+guide), -1) {
			n++
			if _, err := config.Parse(guide, []byte(block[1])); err != nil {
				t.Error(err)
			}
		}
	}
	if n == 0 {
		t.Error("none was found")
	}
}

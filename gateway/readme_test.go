package gateway_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// blocks returns the contents of a Markdown file's code blocks of one language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	return found
}

// readmeConfig returns the configuration that README shows, and what it adds
// for alerts.
func readmeConfig(t *testing.T) (whole, alerts string) {
	t.Helper()
	found := blocks(t, "../README.md", "yaml")
	if len(found) != 2 {
		t.Fatalf("README.md has %d yaml blocks, want 2", len(found))
	}
	return found[0], found[1]
}

// The configuration that README shows is one that the gateway takes as it is,
// without a word of warning, and so it is with the alerts below it.
func TestReadmeConfigIsValid(t *testing.T) {
	whole, alerts := readmeConfig(t)
	for _, c := range []struct {
		name, yaml string
		channels   int
	}{
		{"as it is", whole, 0},
		{"with alerts", whole + alerts, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.channels > 0 {
				t.Setenv("TEAMS_WEBHOOK", "https://example.invalid/hook")
			}
			got, err := config.Parse("README.md", []byte(c.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Warnings) > 0 || len(got.Dependencies) != 2 || len(got.Routes) != 2 || len(got.Alerts.Channels) != c.channels {
				t.Errorf("got warnings %q, %d dependencies, %d routes and %d channels, want none, 2, 2 and %d",
					got.Warnings, len(got.Dependencies), len(got.Routes), len(got.Alerts.Channels), c.channels)
			}
		})
	}
}

package gateway_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// The configuration that README shows is one that the gateway takes, without a
// word of warning.
func TestReadmeConfigIsValid(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md has no yaml block")
	}
	t.Setenv("TEAMS_WEBHOOK", "https://example.invalid/hook")
	c, err := config.Parse("README.md", block[1])
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 || len(c.Dependencies) != 2 || len(c.Routes) != 2 {
		t.Errorf("got warnings %q, %d dependencies and %d routes, want none, 2 and 2", c.Warnings, len(c.Dependencies), len(c.Routes))
	}
}

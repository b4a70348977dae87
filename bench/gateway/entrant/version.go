package entrant

import (
	"os/exec"
	"strings"
)

// Version asks a program for its version: the first line of what it says.
func Version(command ...string) string {
	output, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return command[0] + ": " + err.Error()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return line
}

// CaddyVersion is the version of Caddy's module in go.mod.
func CaddyVersion() string {
	version, err := goOutput(".", "list", "-m", "-f", "{{.Version}}", "github.com/caddyserver/caddy/v2")
	if err != nil {
		return err.Error()
	}
	return version
}

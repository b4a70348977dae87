package entrant

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tools are the programs that were built for a run.
type Tools struct{ Recloser, Bare, Caddy string }

// Build builds ours from this working tree, unless a program is given as
// recloser, and Caddy from the module that go.mod names, into dir. It works in any
// folder of this module.
func Build(dir, recloser string, caddy bool) (Tools, error) {
	home, err := goOutput(".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return Tools{}, err
	}
	t := Tools{Recloser: recloser, Bare: filepath.Join(dir, "bare")}
	builds := [][3]string{{home, t.Bare, "./cmd/bare"}} // folder, program, package
	if recloser == "" {
		t.Recloser = filepath.Join(dir, "recloser")
		builds = append(builds, [3]string{filepath.Join(home, "..", "..", "gateway"), t.Recloser, "./cmd/recloser"})
	}
	if caddy {
		t.Caddy = filepath.Join(dir, "caddy")
		builds = append(builds, [3]string{home, t.Caddy, "github.com/caddyserver/caddy/v2/cmd/caddy"})
	}
	for _, b := range builds {
		if _, err := goOutput(b[0], "build", "-o", b[1], b[2]); err != nil {
			return Tools{}, err
		}
	}
	return t, nil
}

func goOutput(dir string, arguments ...string) (string, error) {
	cmd := exec.Command("go", arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	output, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(output))
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, text)
	}
	return text, nil
}

// Need makes sure that the rivals' programs are there: on Debian, as root, it
// installs them.
func Need() error {
	home, err := goOutput(".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(home, "..", "..", "scripts", "need"), "nginx", "haproxy", "taskset")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// A package starts its service when it is installed, unless the machine is in
	// this run level. We start our own.
	cmd.Env = append(os.Environ(), "RUNLEVEL=1")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("scripts/need nginx haproxy taskset: %w", err)
	}
	return nil
}

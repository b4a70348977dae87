//go:build !race

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fenced returns the blocks of one language in a Markdown file.
func fenced(t *testing.T, file, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(m[1]))
	}
	return blocks
}

// What the guide tells people to type works as it stands: with a shell, with curl and
// with the program, at the gateway that README configures. Only the addresses are
// those of this test.
func TestGuideWordForWord(t *testing.T) {
	isolate(t)
	const guide = "../../../docs/GATEWAY.md"
	h := newHotels(t, 2, "")
	config := fenced(t, "../../../README.md", "yaml")[0]
	urls := regexp.MustCompile(`url: *"?https?://[^\s",}]+"?`).FindAllString(config, -1)
	if len(urls) != len(h.all) {
		t.Fatalf("README configures %q", urls)
	}
	for i, url := range urls {
		config = strings.Replace(config, url, fmt.Sprintf("url: %q", h.all[i].Listen(t)), 1)
	}
	dir := t.TempDir()
	replaceFile(t, filepath.Join(dir, "recloser.yaml"), config)
	for name, address := range map[string]string{"RECLOSER_LISTEN": "127.0.0.1:0", "RECLOSER_ADMIN_LISTEN": "127.0.0.1:0"} {
		t.Setenv(name, address)
	}
	p, calls, admin := serveFile(t, filepath.Join(dir, "recloser.yaml"))
	defer p.signal(os.Interrupt)
	t.Setenv("RECLOSER_SERVER", admin)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "recloser")); err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("http://127.0.0.1:8080", calls, "http://localhost:8080", calls, "http://127.0.0.1:8081", admin, "http://localhost:8081", admin)

	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range regexp.MustCompile("`(curl [^`]+)`").FindAllSubmatch(text, -1) { // in the running text
		lines = append(lines, string(m[1]))
	}
	shell := strings.ReplaceAll(strings.Join(fenced(t, guide, "sh"), ""), "\\\n", "")
	for line := range strings.Lines(shell) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (word == "curl" || word == "bin/recloser" || word == "recloser") && !strings.Contains(line, "recloser serve") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) < 6 {
		t.Errorf("the guide has only %q", lines)
	}
	for _, line := range lines {
		sh := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(strings.Replace(line, "curl ", "curl -sS -D head --fail-with-body ", 1)))
		sh.Dir = dir
		sh.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		if out, err := sh.CombinedOutput(); err != nil {
			t.Errorf("%s\n%v\n%s", line, err, out)
		}
	}
}

// G22: a page of another origin can neither act nor read; without an origin curl can.
// No GET changes anything.
func TestForeignOriginWithCurl(t *testing.T) {
	h := newHotels(t, 1, "")
	n := startNode(t, head+h.lines+proxyRoute)
	const path = "/api/v1/dependencies/hotel-1/"
	act := []string{"-o", os.DevNull, "-w", "%{http_code}", "-H", "Content-Type: application/json", "-d", `{"mode": "isolated", "for": "1h", "reason": "x"}`, "-X", "PUT", n.admin + path + "override"}
	for _, tt := range []struct {
		name string
		with []string
		want string
	}{
		{"a foreign origin", []string{"-H", "Origin: https://evil.example"}, "403"},
		{"a sandbox", []string{"-H", "Origin: null"}, "403"},
		{"a browser that says so", []string{"-H", "Sec-Fetch-Site: cross-site"}, "403"},
		{"another host name, as DNS rebinding has it", []string{"-H", "Host: evil.example"}, "403"},
		{"a form", []string{"-H", "Content-Type: text/plain"}, "415"},
		{"ours", []string{"-H", "Origin: " + n.admin}, "200"},
		{"none", nil, "200"},
	} {
		if got := curl(t, append(tt.with, act...)...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	version := n.state("hotel-1").Version
	for _, verb := range []string{"override", "reset", "trial"} {
		if got := curl(t, "-o", os.DevNull, "-w", "%{http_code}", n.admin+path+verb); got[0] != '4' {
			t.Errorf("GET %s: %s", verb, got)
		}
	}
	if s := n.state("hotel-1"); s.Version != version || s.State != "isolated" {
		t.Errorf("GET has changed it: %+v", s)
	}
	n.must(http.MethodDelete, "/dependencies/hotel-1/override?reason=done", "")
}

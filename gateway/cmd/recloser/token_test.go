package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTokensOnline(t *testing.T) {
	g := newFakeGateway(t)
	for name, args := range map[string][]string{
		"tokens.txt":      {"token", "list"},
		"tokens.json":     {"token", "list", "-o", "json"},
		"tokens-name.txt": {"token", "list", "-o", "name"},
	} {
		r := run(t, args...)
		if r.code != exitGood || r.stderr != "" {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
		golden(t, name, r.stdout)
	}

	g.answer("POST", "/tokens", 201, `{"id":"k3v7q2ab","name":"cms","role":"operator","group":"coast","created":"2026-11-30T09:00:00Z","by":"kim","expires":"2027-02-28T09:00:00Z","last_used":null,"secret":"rcl_k3v7q2ab_s3cret"}`)
	r := run(t, "token", "create", "cms", "--role", "operator", "--group", "coast", "--until", "2027-02-28T09:00:00Z")
	golden(t, "token-create.txt", r.stdout)
	golden(t, "token-create-words.txt", r.stderr)
	if got, want := g.acts()[0].body, `{"name":"cms","role":"operator","group":"coast","until":"2027-02-28T09:00:00Z","by":"`+me(t)+`"}`; got != want || r.code != exitGood {
		t.Errorf("exit code %d, sent\n%s\nwant\n%s", r.code, got, want)
	}
	g.answer("DELETE", "/tokens/k3v7q2ab", 204, "")
	if r := run(t, "token", "revoke", "k3v7q2ab"); r.code != exitGood || r.stderr != "Token k3v7q2ab is revoked.\n" {
		t.Errorf("%+v", r)
	}
	g.answer("POST", "/tokens", 403, `{"detail":"cms is an operator, and this takes the role admin"}`)
	if r := run(t, "token", "create", "--no-expiry"); r.code != exitNotAllowed || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	g.answer("POST", "/tokens", 200, `{"name":"another API"}`)
	if r := run(t, "token", "create", "--no-expiry"); r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "no token in it") {
		t.Errorf("an answer without a token: %+v", r)
	}
	for args, said := range map[string]string{
		"create":                               "say once how long it holds",
		"create --for 1d --no-expiry":          "say once how long it holds",
		"create --role root --for 1d":          `--role is viewer, operator or admin, not "root"`,
		"create --until 2001-01-01T00:00:00Z":  "must lie ahead",
		"create --for ever":                    `not "ever"`,
		"revoke":                               "see recloser token list",
		"create --for 1d -c /nowhere/x.yaml":   "there is no config file",
		"list -o wide":                         "--output is table, json, yaml or name",
		"create a b --for 1d --role operator ": "accepts at most 1 arg",
	} {
		if r := run(t, append([]string{"token"}, strings.Fields(args)...)...); r.code != exitUsage && r.code != exitBadConfig || !strings.Contains(r.stderr, said) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// The first token is made before anybody has one: in the storage itself.
func TestTokensOffline(t *testing.T) {
	isolate(t)
	t.Setenv("RECLOSER_SERVER", "http://127.0.0.1:1") // nobody is asked
	dir := t.TempDir()
	cfg := filepath.Join(dir, "recloser.yaml")
	if err := os.WriteFile(cfg, fmt.Appendf(nil, "storage: %s\n%s", filepath.Join(dir, "r.db"), goodConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, "token", "create", "-c", cfg, "--role", "operator", "--group", "coast", "--for", "90d")
	secret := strings.TrimSuffix(r.stdout, "\n")
	id := regexp.MustCompile(`^rcl_([a-z0-9]+)_[a-z0-9]{50,}$`).FindStringSubmatch(secret)
	if r.code != exitGood || id == nil || !strings.HasPrefix(r.stderr, "Token "+id[1]+" for operator coast: operator in group coast, until 20") || strings.Contains(r.stderr, secret) {
		t.Fatalf("%+v", r)
	}
	var list struct {
		Tokens []struct {
			ID, Name, Role, Group, By, Secret string
			Expires                           time.Time
		}
	}
	listed := run(t, "token", "list", "-c", cfg, "-o", "json").stdout
	if err := json.Unmarshal([]byte(listed), &list); err != nil || len(list.Tokens) != 1 {
		t.Fatalf("%v: %s", err, listed)
	}
	token := list.Tokens[0]
	if left := time.Until(token.Expires); token.ID != id[1] || token.Role != "operator" || token.Group != "coast" || token.By != me(t) ||
		left > 90*24*time.Hour || left < 89*24*time.Hour || strings.Contains(listed, secret[len("rcl_")+len(id[1])+1:]) {
		t.Errorf("listed %s", listed)
	}
	if r := run(t, "token", "revoke", "-c", cfg, "xxxx"); r.code != exitNotFound || !strings.Contains(r.stderr, `no token "xxxx"`) {
		t.Errorf("%+v", r)
	}
	if r := run(t, "token", "revoke", "-c", cfg, token.ID); r.code != exitGood {
		t.Errorf("%+v", r)
	}
	if r := run(t, "token", "list", "-c", cfg, "-o", "name"); r.stdout != "" || r.code != exitGood {
		t.Errorf("%+v", r)
	}
}

// Root must not leave files that the gateway's own user cannot write.
func TestTokensOfflineAsRoot(t *testing.T) {
	file := writeConfig(t, "")
	if owner, yes := strangerTo(file); yes {
		t.Errorf("a stranger to a file of one's own, of %d", owner)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 65532, 65532); err != nil {
			t.Fatal(err)
		}
		if owner, yes := strangerTo(file); !yes || owner != 65532 {
			t.Errorf("%d, %v of a file of another user", owner, yes)
		}
		if err := os.Chown(filepath.Dir(file), 65533, 65533); err != nil {
			t.Fatal(err)
		}
		if owner, yes := strangerTo(file + ".db"); !yes || owner != 65533 {
			t.Errorf("%d, %v of a file in another user's folder", owner, yes)
		}
		if r := run(t, "token", "create", "-c", writeConfig(t, fmt.Sprintf("storage: %s\n%s", file+".db", goodConfig)), "--for", "1d"); r.code != exitFailed || !strings.Contains(r.stderr, "sudo -u '#65533'") {
			t.Errorf("%+v", r)
		}
	}
}

func TestTokensOfflineNeedStorage(t *testing.T) {
	isolate(t)
	off := writeConfig(t, "storage: off\n"+goodConfig)
	if r := run(t, "token", "create", "-c", off, "--for", "1d"); r.code != exitFailed || !strings.Contains(r.stderr, "has storage: off") || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	elsewhere := writeConfig(t, "storage: /nowhere/at/all.db\n"+goodConfig)
	if r := run(t, "token", "create", "-c", elsewhere, "--for", "1d"); r.code != exitFailed || !strings.Contains(r.stderr, "/nowhere/at/all.db") || r.stdout != "" {
		t.Errorf("%+v", r)
	}
}

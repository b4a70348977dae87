package redisstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
)

// Whatever is wrong with a server, the error of the first use says where, what and what
// to do next, in the words below, and never the password.
func TestErrors(t *testing.T) {
	const (
		secret = "xs3cr3tx"
		silent = "no answer within 250ms"
	)
	plain := redistest.Start(t)
	locked := redistest.Start(t, "--requirepass", secret)
	withUsers := redistest.Start(t)
	withUsers.Do("acl", "setuser", "weak", "on", ">"+secret, "~*", "&*", "+@read", "+@connection")
	primary := redistest.Start(t)
	replica := redistest.StartReplica(t, primary)
	full := redistest.Start(t, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
	notOurs := redistest.Start(t)
	notOurs.Do("set", "{recloser}:docs", "x")
	garbled := redistest.Start(t)
	garbled.Do("hset", "{recloser}:docs", "k", "what is this")
	alone := redistest.Start(t, "--min-replicas-to-write", "1")
	busy := redistest.Start(t)
	conn, err := net.Dial("tcp", busy.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	busy.Do("config", "set", "maxclients", 1)
	encrypted, _ := startTLS(t)
	hung := redistest.Start(t)
	hung.Pause()
	t.Cleanup(hung.Resume)
	gone := redistest.Start(t)
	gone.Kill()
	sentinel := redistest.StartSentinel(t, primary, "main")

	for _, c := range []struct {
		name, where string
		opts        redisstore.Options
		says        []string
	}{
		{"wrong password", "redis at " + locked.Addr, redisstore.Options{Addrs: []string{locked.Addr}, Password: secret + "no"}, []string{"the user or password is wrong", "%23 for #"}},
		{"wrong user", "redis at " + locked.Addr, redisstore.Options{Addrs: []string{locked.Addr}, User: "nobody", Password: secret}, []string{"the user or password is wrong"}},
		{"no password given", "redis at " + locked.Addr, redisstore.Options{Addrs: []string{locked.Addr}}, []string{"it asks for a password", "give one"}},
		{"user with few rights", "redis at " + withUsers.Addr, redisstore.Options{Addrs: []string{withUsers.Addr}, User: "weak", Password: secret}, []string{"the user may not do", "ACL"}},
		{"replica", "redis at " + replica.Addr, redisstore.Options{Addrs: []string{replica.Addr}}, []string{"it is a replica, which can only be read", "name its primary", "?master=NAME"}},
		{"out of memory", "redis at " + full.Addr, redisstore.Options{Addrs: []string{full.Addr}}, []string{"it is out of memory", "raise its maxmemory"}},
		{"another program's keys", "redis at " + notOurs.Addr, redisstore.Options{Addrs: []string{notOurs.Addr}}, []string{"another program uses keys with this prefix", "choose another prefix"}},
		{"another program's values", "redis at " + garbled.Addr, redisstore.Options{Addrs: []string{garbled.Addr}}, []string{"what is stored under the prefix is not a fleet's", "choose another prefix"}},
		{"too few replicas", "redis at " + alone.Addr, redisstore.Options{Addrs: []string{alone.Addr}}, []string{"it has too few replicas"}},
		{"too many clients", "redis at " + busy.Addr, redisstore.Options{Addrs: []string{busy.Addr}}, []string{"clients", "maxclients"}},
		{"hung", "redis at " + hung.Addr, redisstore.Options{Addrs: []string{hung.Addr}}, []string{silent, "it hangs or has too much to do, or the network between is cut"}},
		{"no server", "redis at " + gone.Addr, redisstore.Options{Addrs: []string{gone.Addr}}, []string{"nobody listens there", "start the server, or correct the address"}},
		{"no such name", "redis at nowhere.invalid:6379", redisstore.Options{Addrs: []string{"nowhere.invalid:6379"}}, []string{"correct the address"}},
		{"no TLS there", "redis at " + plain.Addr, redisstore.Options{Addrs: []string{plain.Addr}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, []string{silent, "it does not speak TLS, and redis:// is right instead of rediss://"}},
		{"only TLS there", "redis at " + encrypted, redisstore.Options{Addrs: []string{encrypted}}, []string{"it ended the connection", "take TLS alone (rediss://)"}},
		{"unknown authority", "redis at " + encrypted, redisstore.Options{Addrs: []string{encrypted}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, []string{"its certificate is not trusted", "give the authority"}},
		{"no such database", "redis at " + plain.Addr, redisstore.Options{Addrs: []string{plain.Addr}, DB: 99}, []string{"it has no such database"}},
		{"no cluster", "the redis cluster at " + plain.Addr, redisstore.Options{Addrs: []string{plain.Addr}, Cluster: true}, []string{"it is no cluster"}},
		{"no such master", `redis "other" of the Sentinels at ` + sentinel.Addr, redisstore.Options{Addrs: []string{sentinel.Addr}, Master: "other"}, []string{"the Sentinels know no such master"}},
		{"no Sentinel", `redis "main" of the Sentinels at ` + gone.Addr, redisstore.Options{Addrs: []string{gone.Addr}, Master: "main"}, []string{"nobody listens there"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.says[0] != silent {
				c.opts.Timeout = patient
			}
			s := open(t, c.opts)
			err := firstUse(t.Context(), s)
			if err == nil {
				t.Fatal("nothing was wrong")
			}
			for _, says := range append(c.says, c.where) {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v\ndoes not say %q", err, says)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Error("the error shows the password")
			}
		})
	}
}

func TestTLS(t *testing.T) {
	addr, authority := startTLS(t)
	s := open(t, redisstore.Options{Addrs: []string{addr}, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority}, Timeout: patient})
	if err := firstUse(t.Context(), s); err != nil {
		t.Error(err)
	}
	seen, _ := watch(t, s)
	put(t, s, fleet.Doc{}, "k")
	await(t, seen, "a change")
}

// startTLS starts a server that takes TLS alone at an address, and returns the
// authority that signed its certificate.
func startTLS(t *testing.T) (addr string, authority *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, text := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := redistest.Start(t, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	server.Do("config", "set", "tls-port", port)
	authority = x509.NewCertPool()
	authority.AppendCertsFromPEM(certPEM)
	return addr, authority
}

// firstUse is what a node does first: it loads, and says that it is there.
func firstUse(ctx context.Context, s fleet.Store) error {
	if _, _, err := s.Load(ctx); err != nil {
		return err
	}
	return s.Say(ctx, []fleet.Row{{Key: "node", Node: "a", Start: 1, Seq: 1}}, time.Minute)
}

// A value that is not ours is not replaced either.
func TestPutOnAnotherProgramsValue(t *testing.T) {
	server := redistest.Start(t)
	server.Do("hset", "{recloser}:docs", "k", "what is this")
	s := open(t, redisstore.Options{Addrs: []string{server.Addr}, Timeout: patient})
	_, err := s.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: "k", Rev: fleet.Rev{Epoch: 1, ID: 1}})
	if err == nil || !strings.Contains(err.Error(), "not a fleet's") {
		t.Errorf("Put: %v", err)
	}
	if value := server.Do("hget", "{recloser}:docs", "k"); value != "what is this" {
		t.Errorf("the value is now %v", value)
	}
}

// What the documentation says a user needs is enough, and a part of it.
func TestDocumentedRights(t *testing.T) {
	server := redistest.Start(t)
	server.Do(
		"acl", "setuser", "recloser", "on", ">secret", "~{recloser}:*", "&{recloser}:*", "+@read", "+@write",
		"+@scripting", "+@connection", "+time", "+publish", "+subscribe", "+unsubscribe",
	)
	opts := redisstore.Options{Addrs: []string{server.Addr}, User: "recloser", Password: "secret", Timeout: patient}
	s := open(t, opts)
	if err := firstUse(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	seen, _ := watch(t, s)
	d := put(t, s, fleet.Doc{}, "k")
	await(t, seen, "a change")
	l, _, err := s.Acquire(t.Context(), "k", d.Rev, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Finish(t.Context(), l, fleet.Good); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Elect(t.Context(), "role", "a", time.Minute); err != nil {
		t.Fatal(err)
	}
	if denied := server.Do("acl", "log").([]any); len(denied) > 0 {
		t.Errorf("was denied: %v", denied)
	}
	opts.Prefix = "another"
	if err := firstUse(t.Context(), open(t, opts)); err == nil || !strings.Contains(err.Error(), "ACL") {
		t.Errorf("a user of one prefix uses another: %v", err)
	}
}

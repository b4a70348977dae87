package config

import (
	"fmt"
	"strings"
	"testing"
)

// A dependency at an address of the gateway's own would be called for ever.
func TestOwnAddressIsNoDependency(t *testing.T) {
	for _, c := range []struct {
		listen, admin, url string
		setting            string // "": fine
	}{
		{":8080", "127.0.0.1:8081", "http://localhost:8080", "listen"},
		{":8080", "127.0.0.1:8081", "http://LOCALHOST:8080/x", "listen"},
		{":8080", "127.0.0.1:8081", "http://127.0.0.1:8080", "listen"},
		{":8080", "127.0.0.1:8081", "http://127.9.9.9:8080", "listen"},
		{":8080", "127.0.0.1:8081", "http://[::1]:8080", "listen"},
		{":8080", "127.0.0.1:8081", "http://0.0.0.0:8080", "listen"},
		{"0.0.0.0:80", "127.0.0.1:8081", "http://127.0.0.1", "listen"},
		{"[::]:443", "127.0.0.1:8081", "https://localhost", "listen"},
		{"gate.example:8080", "127.0.0.1:8081", "http://Gate.example:8080", "listen"},
		{"10.0.0.5:8080", "127.0.0.1:8081", "http://10.0.0.5:8080", "listen"},
		{":8080", "127.0.0.1:8081", "http://127.0.0.1:8081", "admin.listen"},
		{":8080", "localhost:8081", "http://127.0.0.1:8081", "admin.listen"},
		{":8080", "127.0.0.1:8081", "http://0.0.0.0:8081", "admin.listen"},

		{":8080", "127.0.0.1:8081", "http://localhost:8082", ""},
		{":8080", "127.0.0.1:8081", "http://localhost", ""},
		{":8080", "127.0.0.1:8081", "http://hotel.example:8080", ""},
		{"10.0.0.5:8080", "127.0.0.1:8081", "http://localhost:8080", ""},
		{"127.0.0.1:8080", "127.0.0.1:8081", "http://127.0.0.2:8080", ""},
		{"127.0.0.1:0", "127.0.0.1:0", "http://127.0.0.1:9000", ""},
	} {
		file := fmt.Sprintf("dependencies: { a: { url: %q } }\nroutes: [ { path: /*, dependency: a } ]\nlisten: %q\nadmin: { listen: %q }\n", c.url, c.listen, c.admin)
		_, err := Parse("x.yaml", []byte(file))
		switch {
		case c.setting == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.setting != "" && (err == nil || !strings.HasPrefix(err.Error(), "x.yaml:1:27: ") ||
			!strings.Contains(err.Error(), "is the gateway's own "+c.setting+" address") || strings.Contains(err.Error(), "\n")):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

package config

import (
	"strings"
	"testing"
)

// Headers that can be read on the way are warned of.
func TestTracesInClearText(t *testing.T) {
	for traces, warned := range map[string]bool{
		"{ endpoint: 'http://collector.example:4318', headers: { A: b } }":  true,
		"{ endpoint: 'http://collector.example:4318' }":                     false,
		"{ endpoint: 'http://127.0.0.1:4318', headers: { A: b } }":          false,
		"{ endpoint: 'https://collector.example:4318', headers: { A: b } }": false,
	} {
		c, err := Parse("x.yaml", []byte("traces: "+traces+"\n"+oneDependency+oneRoute))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(c.Warnings, " "), "can be read on the way"); got != warned {
			t.Errorf("%s: warnings %q", traces, c.Warnings)
		}
	}
}

func TestHeadersOfTraces(t *testing.T) {
	c, err := Parse("x.yaml", []byte("traces: { endpoint: 'https://collector.example', headers: { authorization: 'Bearer a b' } }\n"+oneDependency+oneRoute))
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Traces.Header(); len(h) != 1 || h.Get("Authorization") != "Bearer a b" {
		t.Errorf("%v", h)
	}
}

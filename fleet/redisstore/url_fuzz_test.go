package redisstore_test

import (
	"strings"
	"testing"

	"github.com/recloser-go/recloser/fleet/redisstore"
)

// However somebody mistypes a URL, neither its error nor its mask shows what stands
// before the last @. The password is recognised by its ends.
func FuzzNoErrorShowsAPassword(f *testing.F) {
	for _, within := range []string{"", "/", "?", "#", "@", ":", "%", "1/", "1?", "1#", "a@b:1/", "a@b:1?", "[", "://", "//"} {
		f.Add("redis://u:", within, "@host:6379/0")
		f.Add("redis:u:", within, "@host")
		f.Add("", within, "@h?addr=h2")
	}
	f.Fuzz(func(t *testing.T, before, within, after string) {
		if !strings.HasPrefix(after, "@") || strings.Contains(before+after, "jq") {
			return
		}
		raw := before + within + "xjqx" + within + "xjqx" + after
		if shown := redisstore.Mask(raw); strings.Contains(shown, "jq") {
			t.Errorf("%s is masked as %s", raw, shown)
		}
		if _, err := redisstore.ParseURL(raw); err != nil && strings.Contains(err.Error(), "jq") {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

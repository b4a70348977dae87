package demo

import (
	"strings"
	"testing"
	"time"
)

func TestJournal(t *testing.T) {
	var out strings.Builder
	j := &journal{out: &out}
	v := duringOutage()
	later := v
	later.now = 19 * time.Second
	end := v
	end.now = 30200 * ms
	end.outage.ended, end.outage.until = true, 30*time.Second
	for _, v := range []view{v, later, end} {
		if err := j.show(v); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "journal.txt", out.String())
}

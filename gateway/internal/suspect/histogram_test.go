package suspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	for i := range buckets {
		if got := bucket(bound(i)); got != i {
			t.Errorf("the bound of bucket %d, %s, is in %d", i, bound(i), got)
		}
		if i == buckets-1 {
			break
		}
		if got := bucket(bound(i) + 1); got != i+1 {
			t.Errorf("just above the bound of bucket %d is in %d", i, got)
		}
		if ratio := float64(bound(i+1)) / float64(bound(i)); ratio < 1.18 || ratio > 1.2 {
			t.Errorf("bucket %d is %.3f times the one before", i+1, ratio)
		}
	}
	for _, took := range []time.Duration{-time.Second, 0, 1} {
		if got := bucket(took); got != 0 {
			t.Errorf("%s is in bucket %d", took, got)
		}
	}
	if got := bucket(1 << 62); got != buckets-1 {
		t.Errorf("the longest time is in bucket %d", got)
	}
	if last := bound(buckets - 1); last < time.Hour {
		t.Errorf("the last bound is %s", last)
	}
}

func TestQuantile(t *testing.T) {
	var h histogram
	if got := h.quantile(0.95); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	for range 19 {
		h.add(time.Millisecond)
	}
	h.add(time.Second)
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{{0.5, time.Millisecond}, {0.95, time.Millisecond}, {0.951, bound(bucket(time.Second))}, {1, bound(bucket(time.Second))}} {
		if got := h.quantile(tt.q); got != tt.want {
			t.Errorf("quantile %v is %s, want %s", tt.q, got, tt.want)
		}
	}
}

func TestSaveAndRestore(t *testing.T) {
	l := learned(300, 3*ms)
	for range 40 {
		l.Good(time.Hour)
		l.Good(0)
	}
	saved := l.Save()
	other := learned(7, time.Second) // is replaced
	if err := other.Restore(saved); err != nil {
		t.Fatal(err)
	}
	if got, want := other.Limit(slowCall, warm), l.Limit(slowCall, warm); got != want {
		t.Errorf("restored %+v, want %+v", got, want)
	}
	if !bytes.Equal(other.Save(), saved) {
		t.Error("what was restored is saved in another way")
	}
}

func TestRestoreOfWhatIsDamaged(t *testing.T) {
	tests := []struct {
		name    string
		saved   []byte
		damaged bool // else of another version
	}{
		{"nothing", nil, true},
		{"another version", []byte{2, 1, 1}, false},
		{"no such bucket", []byte{saveVersion, buckets, 1}, true},
		{"no count", []byte{saveVersion, 3}, true},
		{"cut off", []byte{saveVersion, 3, 0x80}, true},
		{"an endless number", append([]byte{saveVersion}, bytes.Repeat([]byte{0xff}, 20)...), true},
		{"a count that would overflow", binary.AppendUvarint([]byte{saveVersion, 3}, 1<<63), true},
	}
	for _, tt := range tests {
		l := learned(50, 3*ms)
		before := l.Limit(slowCall, warm)
		err := l.Restore(tt.saved)
		if err == nil || errors.Is(err, errSave) != tt.damaged {
			t.Errorf("%s: %v", tt.name, err)
		}
		if after := l.Limit(slowCall, warm); after != before {
			t.Errorf("%s: it changed to %+v", tt.name, after)
		}
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(learned(300, 3*ms).Save())
	f.Add([]byte{saveVersion})
	f.Fuzz(func(t *testing.T, saved []byte) {
		l := NewLatency(start)
		if l.Restore(saved) != nil {
			return
		}
		if again := NewLatency(start); again.Restore(l.Save()) != nil || again.Limit(slowCall, warm) != l.Limit(slowCall, warm) {
			t.Errorf("%x does not come back as it was", saved)
		}
	})
}

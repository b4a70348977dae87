package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// reader reads the reply of a script, a list, and what the scripts pack into one value.
// The first thing that is not what it should be is its err, and the rest reads as zero.
type reader struct {
	where string
	list  []any
	err   error
}

func (s *Store) reader(reply any) *reader {
	r := &reader{where: s.opts.where()}
	r.list = r.asList(reply)
	return r
}

// strange notes that something is not as our scripts write it.
func (r *reader) strange(what any) {
	if r.err == nil {
		r.err = fmt.Errorf("redisstore: %s: what is stored under the prefix is not a fleet's (%.60q): choose another prefix, or delete its keys", r.where, fmt.Sprint(what))
	}
}

func (r *reader) at(i int) any {
	if i >= len(r.list) {
		r.strange("a short reply")
		return nil
	}
	return r.list[i]
}

func (r *reader) asList(v any) []any {
	list, ok := v.([]any)
	if !ok {
		r.strange(v)
	}
	return list
}

func (r *reader) asText(v any) string {
	text, ok := v.(string)
	if !ok {
		r.strange(v)
	}
	return text
}

func (r *reader) number(i int) int64 {
	n, ok := r.at(i).(int64)
	if !ok {
		r.strange(r.list)
	}
	return n
}

func (r *reader) text(i int) string { return r.asText(r.at(i)) }

func (r *reader) position(i int) uint64 {
	pos, err := position(r.text(i))
	if err != nil {
		r.strange(r.at(i))
	}
	return pos
}

// pairs calls f with the names and values of the list at i.
func (r *reader) pairs(i int, f func(name string, value any)) {
	list := r.asList(r.at(i))
	for j := 0; j+1 < len(list); j += 2 {
		f(r.asText(list[j]), list[j+1])
	}
}

// docs returns the documents of the list at i that are there at now.
func (r *reader) docs(i int, now int64) (docs []fleet.Doc) {
	r.pairs(i, func(key string, value any) {
		if d, there := r.doc(key, value, now); there {
			docs = append(docs, d)
		}
	})
	return docs
}

// doc reads a document, "epoch id put ends slots data", and reports whether it is there at now.
func (r *reader) doc(key string, value any, now int64) (d fleet.Doc, there bool) {
	d.Key = key
	var put, ends int64
	d.Data = r.unpack(value, 5, "%x %x %d %d %d", &d.Rev.Epoch, &d.Rev.ID, &put, &ends, &d.Slots)
	d.Age = age(now, put)
	if ends > 0 {
		d.TTL = time.Duration(ends-put) * time.Microsecond
	}
	return d, ends == 0 || now < ends
}

// rows returns the rows of the list at i.
func (r *reader) rows(i int, key string, now int64) (rows []fleet.Row) {
	r.pairs(i, func(node string, value any) {
		row := fleet.Row{Key: key, Node: node}
		var said, ends int64
		row.Data = r.unpack(value, 4, "%x %x %d %d", &row.Start, &row.Seq, &said, &ends)
		row.Age = age(now, said)
		rows = append(rows, row)
	})
	return rows
}

// unpack scans the n words that a value begins with, and returns what follows them.
func (r *reader) unpack(value any, n int, format string, into ...any) []byte {
	packed := r.asText(value)
	rest := packed
	for range n {
		_, after, ok := strings.Cut(rest, " ")
		if !ok {
			r.strange(packed)
			return nil
		}
		rest = after
	}
	if _, err := fmt.Sscanf(packed[:len(packed)-len(rest)], format, into...); err != nil {
		r.strange(packed)
	}
	return []byte(rest)
}

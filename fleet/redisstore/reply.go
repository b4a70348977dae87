package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	words, data := r.unpack(value, 5)
	put, ends := r.decimal(words[2]), r.decimal(words[3])
	d = fleet.Doc{
		Key:   key,
		Rev:   fleet.Rev{Epoch: r.hex(words[0]), ID: r.hex(words[1])},
		Slots: int(r.decimal(words[4])),
		Data:  data,
		Age:   age(now, put),
	}
	if ends > 0 {
		d.TTL = time.Duration(ends-put) * time.Microsecond
	}
	return d, ends == 0 || now < ends
}

// rows reads rows, "start seq said ends data" by node, and reports whether some are dead at now.
func (r *reader) rows(key string, now int64, packed map[string]string) (rows []fleet.Row, dead bool) {
	for _, node := range slices.Sorted(maps.Keys(packed)) {
		words, data := r.unpack(packed[node], 4)
		if r.decimal(words[3]) <= now {
			dead = true
			continue
		}
		rows = append(rows, fleet.Row{
			Key: key, Node: node, Start: r.hex(words[0]), Seq: r.hex(words[1]),
			Data: data, Age: age(now, r.decimal(words[2])),
		})
	}
	return rows, dead
}

// unpack splits a value into the n words that it begins with and the data after them.
func (r *reader) unpack(value any, n int) (words []string, data []byte) {
	packed := r.asText(value)
	words = strings.SplitN(packed, " ", n+1)
	if len(words) <= n {
		r.strange(packed)
		return make([]string, n), nil
	}
	return words[:n], []byte(words[n])
}

func (r *reader) hex(word string) uint64 {
	n, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		r.strange(word)
	}
	return n
}

func (r *reader) decimal(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		r.strange(word)
	}
	return n
}

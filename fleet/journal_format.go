package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// schema is the version of the format. A journal of a newer one is not read.
const schema = 1

// An entry is a line of a journal: the checksum of the rest in hex, a space, and this
// as JSON. The first line has the schema alone.
type entry struct {
	Schema int           `json:"schema,omitempty"`
	Key    string        `json:"key,omitempty"`
	Epoch  uint64        `json:"epoch,omitempty"`
	ID     uint64        `json:"id,omitempty"`
	Slots  int           `json:"slots,omitempty"`
	Data   []byte        `json:"data,omitempty"`
	TTL    time.Duration `json:"ttl,omitempty"`
	Put    int64         `json:"put,omitempty"` // when, in ns since 1970
}

func entryOf(d *doc) entry {
	return entry{Key: d.Key, Epoch: d.Rev.Epoch, ID: d.Rev.ID, Slots: d.Slots, Data: d.Data, TTL: d.TTL, Put: d.put.UnixNano()}
}

func (e *entry) doc() Doc {
	return Doc{Key: e.Key, Rev: Rev{Epoch: e.Epoch, ID: e.ID}, Slots: e.Slots, Data: e.Data, TTL: e.TTL}
}

const sumLen = 8

// appendLine appends e to text as a line.
func appendLine(text []byte, e entry) []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	text = fmt.Appendf(text, "%08x %s\n", sum(b), b)
	return text
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// decode returns the last good entry of each key, and how many bytes make no sense. A
// line that is damaged does not stand in the way of those after it: they are newer, and
// each is complete in itself.
func decode(text []byte) (entries map[string]entry, dropped int, err error) {
	entries = map[string]entry{}
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		e, ok := parse(line)
		switch {
		case !ok || !ended:
			dropped += len(text) - len(rest)
		case e.Schema > schema:
			return nil, 0, fmt.Errorf("it is of schema %d, and this version reads up to %d: use a newer version, or another file", e.Schema, schema)
		case e.Schema == 0:
			entries[e.Key] = e
		}
		text = rest
	}
	return entries, dropped, nil
}

// parse returns the entry of a line, if that is whole and says what a store would take.
func parse(line []byte) (e entry, ok bool) {
	if len(line) <= sumLen || line[sumLen] != ' ' {
		return e, false
	}
	body := line[sumLen+1:]
	if want, err := strconv.ParseUint(string(line[:sumLen]), 16, 32); err != nil || uint32(want) != sum(body) {
		return e, false
	}
	if json.Unmarshal(body, &e) != nil {
		return e, false
	}
	d := e.doc()
	return e, e.Schema > 0 || d.Check(Rev{}) == nil
}

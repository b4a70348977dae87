package fleet

import (
	"encoding/json"
	"fmt"
)

const (
	aboutKey = "about"
	// aboutSchema is of all that nodes write. A node does not touch what has a newer one.
	aboutSchema = 1
)

// about is the document that says what the rest of the store is.
type about struct {
	Schema int    `json:"schema"`
	Fleet  string `json:"fleet"`
}

// meet reports why the store is not for this node.
func (c *coordinator) meet(d *Doc) error {
	c.aboutRev = Rev{}
	if d == nil {
		return nil
	}
	if err := foreign(d, c.cfg.Fleet); err != nil {
		return err
	}
	c.aboutRev = d.Rev
	return nil
}

// Belongs reports why a store with these documents, as Load returns them, is not one of
// the fleet: for who keeps documents of his own beside those of nodes. It is ErrResync as
// long as no node has taken the store.
func Belongs(docs []Doc, fleet string) error {
	for i := range docs {
		if docs[i].Key == aboutKey {
			return foreign(&docs[i], fleet)
		}
	}
	return ErrResync
}

func foreign(d *Doc, fleet string) error {
	var a about
	if err := json.Unmarshal(d.Data, &a); err != nil {
		return fmt.Errorf("fleet: what the store holds cannot be read (document %q: %w); give this fleet a prefix or database of its own", aboutKey, err)
	}
	switch {
	case a.Schema > aboutSchema:
		return fmt.Errorf("fleet: the store has schema %d, and this program knows %d; update this node", a.Schema, aboutSchema)
	case a.Fleet != fleet:
		return fmt.Errorf("fleet: the store belongs to the fleet %q, and this node to %q; give each fleet a prefix or database of its own", a.Fleet, fleet)
	}
	return nil
}

// putAbout says what the store is for, if nobody has.
func (c *coordinator) putAbout() *op {
	if c.aboutRev != (Rev{}) {
		return nil
	}
	return &op{kind: opPut, key: aboutKey, doc: Doc{
		Key: aboutKey, Rev: above(Rev{}, Rev{}, c.random), Data: encode(about{Schema: aboutSchema, Fleet: c.cfg.Fleet}),
	}}
}

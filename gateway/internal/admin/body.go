package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// formats are those of bodies: JSON.
func formats() map[string]huma.Format {
	all := maps.Clone(huma.DefaultFormats)
	for kind, f := range all {
		f.Unmarshal = unmarshal
		all[kind] = f
	}
	return all
}

// unmarshal is json.Unmarshal for a body in which no name is twice, in whatever case:
// encoding/json takes the last one of them, so another would be looked at than is acted on.
func unmarshal(body []byte, v any) error {
	if json.Valid(body) { // else what follows says why not
		if err := namedOnce(json.NewDecoder(bytes.NewReader(body))); err != nil {
			return err
		}
	}
	return json.Unmarshal(body, v)
}

// namedOnce reads one value of valid JSON.
func namedOnce(d *json.Decoder) error {
	token, _ := d.Token()
	object := token == json.Delim('{')
	if !object && token != json.Delim('[') {
		return nil
	}
	names := make(map[string]bool)
	for d.More() {
		if object {
			token, _ := d.Token()
			name, _ := token.(string)
			folded := strings.ToLower(strings.ToUpper(name)) // both: ſ is an s too
			if names[folded] {
				return fmt.Errorf("%q is there twice: name it once", name)
			}
			names[folded] = true
		}
		if err := namedOnce(d); err != nil {
			return err
		}
	}
	_, _ = d.Token() // its end
	return nil
}

package config

import (
	"encoding/json"
	"regexp"
)

// Schema returns the JSON Schema (2020-12) of a config file, for editors.
func Schema() ([]byte, error) {
	root := objectOf(withDefaults("recloser.yaml").keys())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "recloser.yaml"
	return json.MarshalIndent(root, "", "  ")
}

// objectOf describes a mapping with these keys and no others.
func objectOf(keys []key) object {
	properties := make(object, len(keys))
	var required []string
	for _, k := range keys {
		p := k.value.schema()
		if k.means != "" {
			p["description"] = k.description()
		}
		if text, ok := k.defaultText(); ok {
			p["default"] = jsonOf(text)
		}
		properties[k.name] = p
		if k.needed {
			required = append(required, k.name)
		}
	}
	all := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		all["required"] = required
	}
	return all
}

// defaultText returns what holds where the key is not written, as it would be
// written; false if that is no value.
func (k key) defaultText() (text string, ok bool) {
	if k.normal != "" && k.normal[0] != '`' {
		return "", false
	}
	k.value.show("", func(l leaf) { text, ok = l.text, l.path == "" })
	return text, ok
}

var (
	link  = regexp.MustCompile(`(:?) ?\[([^]]+)\]\(([^)]+)\)`)
	marks = regexp.MustCompile("[`*]")
)

// description is what a key means, without the marks of the document.
func (k key) description() string {
	text := link.ReplaceAllStringFunc(k.means, func(s string) string {
		m := link.FindStringSubmatch(s)
		if m[3][0] == '#' { // to a table, which is the schema of this key
			return ""
		}
		return " " + m[2]
	})
	if k.span != "" {
		text += " (" + k.span + ")"
	}
	if k.restart {
		text += ". A change needs a restart"
	}
	return marks.ReplaceAllString(text, "")
}

// jsonOf is a value of a file as one of JSON: true, false and numbers are not texts.
func jsonOf(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v.(type) {
		case bool, float64:
			return v
		}
	}
	return text
}

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
)

func schema(t *testing.T) map[string]any {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// mappings calls f with each mapping that has keys of its own.
func mappings(s map[string]any, path string, f func(path string, properties map[string]any)) {
	if properties, ok := s["properties"].(map[string]any); ok {
		f(path, properties)
		for name, p := range properties {
			mappings(p.(map[string]any), path+"/"+name, f)
		}
	}
	for _, below := range []string{"items", "additionalProperties"} {
		if m, ok := s[below].(map[string]any); ok {
			mappings(m, path+"/-", f)
		}
	}
	if all, ok := s["anyOf"].([]any); ok {
		for _, one := range all {
			mappings(one.(map[string]any), path, f)
		}
	}
}

// A key that is read is in the schema, and the other way: each mapping of the
// schema is written with a key that nothing knows, and the message tells those
// that are known.
func TestSchemaHasTheKeysThatAreRead(t *testing.T) {
	count := 0
	mappings(schema(t), "", func(path string, properties map[string]any) {
		count++
		value := "{ zzzzzz: 1 }"
		names := strings.Split(strings.TrimPrefix(path, "/"), "/")
		for i := len(names) - 1; i >= 0 && path != ""; i-- {
			switch {
			case names[i] == "-" && i > 0 && slices.Contains([]string{"routes", "teams", "slack", "webhook", "alertmanager", "shoutrrr"}, names[i-1]):
				value = "[ " + value + " ]"
			case names[i] == "-":
				value = "{ a: " + value + " }"
			default:
				value = "{ " + names[i] + ": " + value + " }"
			}
		}
		_, err := Parse("x.yaml", []byte(value))
		want := `unknown key "zzzzzz"; known are ` + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
		if len(properties) == 1 && err != nil && strings.Contains(err.Error(), `unknown key "zzzzzz"; `) {
			want = slices.Collect(maps.Keys(properties))[0] // however it is put
		}
		if err == nil || !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool { return strings.HasSuffix(line, want) }) {
			t.Errorf("%s of the schema has %s; the reader says of %s\n%v", path, want, value, err)
		}
	})
	if count < 18 {
		t.Errorf("only %d mappings were found", count)
	}
}

// Every key says what it means, and a default is one that the schema allows.
func TestSchemaDescribes(t *testing.T) {
	defaults := 0
	mappings(schema(t), "", func(path string, properties map[string]any) {
		for name, p := range properties {
			p := p.(map[string]any)
			if d, _ := p["description"].(string); d == "" || strings.ContainsAny(d, "`#") {
				t.Errorf("%s/%s is described by %q", path, name, d)
			}
			if v, ok := p["default"]; ok {
				defaults++
				for _, why := range wrong(p, v, "") {
					t.Errorf("the default of %s/%s: %s", path, name, why)
				}
			}
		}
	})
	if defaults < 70 {
		t.Errorf("only %d defaults", defaults)
	}
}

// What the reader takes, the schema allows.
func TestSchemaAllowsWhatIsRead(t *testing.T) {
	s := schema(t)
	_, examples := document(t)
	good, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(examples, string(good), Example()) {
		var v any
		if err := yaml.Unmarshal([]byte(file), &v); err != nil {
			t.Fatal(err)
		}
		for _, why := range wrong(s, v, "") {
			t.Errorf("%s\nin\n%s", why, file)
		}
	}
}

// A mistake that the schema can know is marked by editors too.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for _, p := range parts() {
		var v any
		if err := yaml.Unmarshal(fmt.Appendf(nil, p.file, "zzzzzz: 1"), &v); err != nil {
			t.Fatal(err)
		}
		if why := wrong(s, v, ""); len(why) == 0 {
			t.Errorf("%s: an unknown key is allowed", p.heading)
		}
	}
	for _, file := range []string{oneRoute, oneDependency, "dependencies: { a: { name: x } }\n" + oneRoute, oneDependency + "routes: [ { dependency: a } ]\n"} {
		var v any
		if err := yaml.Unmarshal([]byte(file), &v); err != nil {
			t.Fatal(err)
		}
		if why := wrong(s, v, ""); len(why) == 0 {
			t.Errorf("what must be there is not, and that is allowed:\n%s", file)
		}
	}
	for _, fragment := range []string{
		"grace: 15", "grace: 15 s", "listen: 8080x", "limits: { headers: 64KB }", "limits: { in_flight: 0 }", "limits: { body: on }",
		"defaults: { breaker: { failure_rate: half } }", "defaults: { http: http2 }", "admin: { sign_in: 'yes' }", "include: [ 1 ]",
		"defaults: { key: X-Property }", "defaults: { rate_limit: { rate: 50 } }", "defaults: { breaker: { cancel_on_trip: off1 } }",
	} {
		var v any
		if err := yaml.Unmarshal([]byte(fragment+"\n"+oneDependency+oneRoute), &v); err != nil {
			t.Fatal(err)
		}
		if why := wrong(s, v, ""); len(why) == 0 {
			t.Errorf("%s is allowed", fragment)
		}
	}
}

// wrong is as much of JSON Schema as ours uses.
func wrong(s map[string]any, v any, path string) (all []string) {
	say := func(format string, args ...any) { all = append(all, path+": "+fmt.Sprintf(format, args...)) }
	number, isNumber := asNumber(v)
	text, isText := v.(string)
	fields, isObject := v.(map[string]any)
	list, isList := v.([]any)
	if of, ok := s["anyOf"].([]any); ok && !slices.ContainsFunc(of, func(o any) bool { return len(wrong(o.(map[string]any), v, path)) == 0 }) {
		say("%v is none of %v", v, of)
	}
	if of, ok := s["enum"].([]any); ok && !slices.Contains(of, v) {
		say("%v is none of %v", v, of)
	}
	if c, ok := s["const"]; ok && !reflect.DeepEqual(c, v) {
		say("%v is not %v", v, c)
	}
	_, isBool := v.(bool)
	is := map[string]bool{"string": isText, "object": isObject, "array": isList, "boolean": isBool, "number": isNumber, "integer": isNumber && number == float64(int64(number))}
	if kind, ok := s["type"].(string); ok && !is[kind] {
		say("%v is no %s", v, kind)
	}
	if p, ok := s["pattern"].(string); ok && isText && !regexp.MustCompile(p).MatchString(text) {
		say("%s is not like %s", text, p)
	}
	if least, ok := s["minimum"].(float64); ok && isNumber && number < least {
		say("%v is below %v", v, least)
	}
	for _, item := range list {
		if s, ok := s["items"].(map[string]any); ok {
			all = append(all, wrong(s, item, path+"/-")...)
		}
	}
	if needed, ok := s["required"].([]any); ok && isObject {
		for _, name := range needed {
			if _, ok := fields[name.(string)]; !ok {
				say("%s is not there", name)
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, field := range fields {
		below, ok := properties[name].(map[string]any)
		if others, ok2 := s["additionalProperties"].(map[string]any); !ok && ok2 {
			below, ok = others, true
		}
		switch {
		case ok:
			all = append(all, wrong(below, field, path+"/"+name)...)
		case s["additionalProperties"] == false:
			say("%s is unknown", name)
		}
	}
	return all
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

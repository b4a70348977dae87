package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

func (a *Alerts) keys() []key {
	const day = 24 * time.Hour
	return []key{
		{name: "calm", value: duration(&a.Calm, time.Second, time.Hour), span: "`1s` to `1h`", means: "how long a dependency must have stayed closed for its incident to be over"},
		{name: "reminder", value: duration(&a.Reminder, time.Minute, 30*day), span: "`1m` to `720h`", means: "when people are reminded of an incident that lasts; then after twice as long, and so on"},
		{name: "teams", value: a.channels(Teams), normal: "none", means: "channels of Microsoft Teams: [alerts.teams](#alertsteams)"},
		{name: "slack", value: a.channels(Slack), normal: "none", means: "channels of Slack: [alerts.slack](#alertsslack)"},
		{name: "webhook", value: a.channels(Webhook), normal: "none", means: "programs of your own: [alerts.webhook](#alertswebhook)"},
		{name: "alertmanager", value: a.channels(Alertmanager), normal: "none", means: "Alertmanagers: [alerts.alertmanager](#alertsalertmanager)"},
		{name: "shoutrrr", value: a.channels(Shoutrrr), normal: "none", means: "e-mail, PagerDuty, Telegram and others: [alerts.shoutrrr](#alertsshoutrrr)"},
	}
}

// addresses are what is said of the url of each kind.
var addresses = map[ChannelKind]struct{ span, means string }{
	Teams:        {"https; http on this machine only", "the address of a Workflows webhook"},
	Slack:        {"https; http on this machine only", "the address of an incoming webhook"},
	Webhook:      {"https; http on this machine only", "where CloudEvents are posted"},
	Alertmanager: {"http or https", "where it is, without `/api/v2`"},
	Shoutrrr:     {"a URL of [shoutrrr](https://shoutrrr.nickfedor.com/)", "the service, such as `smtp://...`, `pagerduty://...` or `telegram://...`"},
}

func (c *Channel) keys() []key {
	all := []key{
		{
			name: "url", value: webhookURL(&c.URL, c.Kind), needed: true, span: addresses[c.Kind].span,
			means: addresses[c.Kind].means + ". It may hold a key, so it is masked everywhere. `${NAME}` in it is replaced by an environment variable; `file:PATH` reads it from a file, seen from the config's folder",
		},
		{name: "name", value: line(&c.Name), span: "each its own, among all channels", normal: fmt.Sprintf("`%s-1`, `%[1]s-2`, ...", c.Kind), means: "what log and panel call it"},
	}
	if c.Kind == Webhook {
		all = append(all, key{name: "secret", value: secretText(&c.Key), normal: "none", means: "signs each request, in the header `Recloser-Signature`; `${NAME}` and `file:PATH` as in `url`"})
	}
	return append(all,
		key{
			name: "groups", value: items("list", object{"type": "string"}, &c.Groups, groupName, func(s string) string { return s }),
			normal: "all; of a channel that is another's `fallback`, none", means: "it is told about dependencies of these groups only",
		},
		key{name: "fallback", value: line(&c.Fallback), span: "the `name` of another channel", normal: "none", means: "the channel that gets what this one refuses, or has not taken for a minute"},
	)
}

func groupName(r *reader, n ast.Node, s string) (string, bool) {
	if strings.TrimSpace(s) == "" {
		r.fault(n, "write the group of some dependency", "the name of a group is empty")
		return "", false
	}
	return s, true
}

func (a *Alerts) channels(kind ChannelKind) value {
	return value{
		kind:   "list",
		schema: func() object { return object{"type": "array", "items": objectOf((&Channel{Kind: kind}).keys())} },
		read: func(r *reader, n ast.Node) {
			for i, item := range r.list(n) {
				c := Channel{Kind: kind, Name: fmt.Sprintf("%s-%d", kind, i+1)}
				r.within(r.called(item, "name", c.Name), func() { r.mapping(item, c.keys()) })
				if _, ok := item.(ast.MapNode); ok && !r.has(item, "url") {
					r.fault(item, "add url: with its address", "the channel has no url")
				}
				if slices.ContainsFunc(a.Channels, func(other Channel) bool { return other.Name == c.Name }) {
					r.fault(item, "give each channel a name: of its own", "another channel has this name already")
				}
				a.Channels = append(a.Channels, c)
			}
		},
		show: func(path string, put put) {
			for _, c := range a.Channels {
				if c.Kind == kind {
					showAll(c.keys(), below(path, c.Name), put)
				}
			}
		},
	}
}

// value reads the section, and looks whether its channels fit together.
func (a *Alerts) value() value {
	v := section(a.keys)
	read := v.read
	v.read = func(r *reader, n ast.Node) {
		read(r, n)
		for _, c := range a.Channels {
			p, written := r.places[below(below(below(r.path, string(c.Kind)), c.Name), "fallback")]
			known := slices.ContainsFunc(a.Channels, func(other Channel) bool { return other.Name == c.Fallback })
			switch {
			case !written:
			case c.Fallback == c.Name:
				p.r.fault(p.n, "name another one", "a channel cannot be its own fallback")
			case !known:
				p.r.fault(p.n, "write the name of one, or add it", "there is no channel of that name")
			}
		}
	}
	return v
}

// called returns what stands at the key of an item of a list by which people know it.
func (r *reader) called(item ast.Node, key, otherwise string) string {
	if m, ok := item.(ast.MapNode); ok {
		for pairs := m.MapRange(); pairs.Next(); {
			if s, ok := pairs.Value().(*ast.StringNode); ok && pairs.Key().GetToken().Value == key {
				return s.Value
			}
		}
	}
	return otherwise
}

// webhookURL is the url of a channel.
func webhookURL(to *Secret, kind ChannelKind) value {
	v := secretText(to)
	v.read = func(r *reader, n ast.Node) {
		s, ok := r.secretFrom(n)
		if !ok {
			return
		}
		u, err := url.Parse(s)
		switch {
		case kind == Shoutrrr && (err != nil || u.Scheme == "" || !strings.Contains(s, "://")):
			r.fault(n, "it begins with the name of a service and ://", "this is not the url of a service")
		case kind == Shoutrrr:
			*to = Secret(s)
		case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
			r.fault(n, "copy it from there: it begins with https://", "this is not the url of a webhook")
		case u.Scheme == "http" && kind != Alertmanager && !IsLoopback(u.Hostname()):
			r.fault(n, "copy it from there: it begins with https://", "this is not the url of a webhook: it would send a secret in clear text")
		default:
			*to = Secret(s)
		}
	}
	return v
}

// secretText is a text that no message may show.
func secretText(to *Secret) value {
	return value{
		kind:   "secret",
		schema: func() object { return object{"type": "string"} },
		read: func(r *reader, n ast.Node) {
			if s, ok := r.secretFrom(n); ok {
				*to = Secret(s)
			}
		},
		show: func(path string, put put) {
			if *to != "" {
				put(leaf{path: path, text: masked, secret: to.Reveal()})
			}
		},
	}
}

// secretFrom reads a secret from where the file says it is.
func (r *reader) secretFrom(n ast.Node) (string, bool) {
	s, ok := r.secretText(n)
	if !ok {
		return "", false
	}
	if path, isFile := strings.CutPrefix(s, "file:"); isFile {
		s, ok = r.fromFile(n, path)
	} else {
		s, ok = r.fromEnvironment(n, s)
	}
	if ok && s == "" {
		r.fault(n, "write it, or remove the key", "the secret is empty")
	}
	return s, ok && s != ""
}

func (r *reader) fromFile(n ast.Node, path string) (string, bool) {
	path = r.besides(path)
	r.sources = append(r.sources, seenFile(path))
	data, err := readFile(path, maxSecret)
	if err == nil && len(data) > maxSecret {
		err = errors.New("it is too long for a secret")
	}
	if err != nil {
		r.fault(n, "create it, correct the path, which is seen from the folder of this file, or remove what needs it",
			"the file with the secret cannot be read: %v", withoutPath(err))
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

const maxSecret = 64 << 10 // bytes

// forProcess is what to do about a variable: nobody can set one for a gateway that runs.
const forProcess = "set it where the gateway is started and start it anew, or name a file with file:PATH"

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fromEnvironment replaces each ${NAME}. os.Expand would also take $NAME, which
// a url may contain, and would make nothing of a variable that is not set.
func (r *reader) fromEnvironment(n ast.Node, s string) (string, bool) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			r.fault(n, "write ${NAME}", "a ${ is not closed")
			return "", false
		}
		if plain, _, fallback := strings.Cut(name, ":-"); fallback && variable.MatchString(plain) {
			r.fault(n, "write ${NAME}, and set the variable wherever the gateway runs", "${NAME:-default} is not read: a secret has no default")
			return "", false
		}
		if !variable.MatchString(name) {
			r.fault(n, "write ${NAME}, with letters, digits and _", "what stands in ${} is not the name of a variable")
			return "", false
		}
		value, set := os.LookupEnv(name)
		if !set {
			r.note(at(n), forProcess, "the environment variable "+name+" is not set for this process")
			return "", false
		}
		if value == "" {
			r.note(at(n), forProcess, "the environment variable "+name+" is set for this process, but empty")
			return "", false
		}
		out.WriteString(value)
		s = after
	}
}

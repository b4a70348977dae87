package message

import "net/url"

// Link is a way into the panel.
type Link struct{ Title, URL string }

// Links returns ways into the panel. None of them acts: what asks for an act opens
// the dialog for it.
func (m Message) Links() []Link {
	switch {
	case m.Panel == "":
		return nil
	case m.Kind == Test:
		return []Link{{"Open the panel", m.Panel + "/"}}
	case len(m.Items) != 1:
		return []Link{{"See all of it", m.Panel + "/"}}
	}
	i := m.Items[0]
	page := m.Panel + "/d/" + url.PathEscape(i.Dependency)
	see := Link{"See it on the panel", page}
	switch m.Kind {
	case Started, Reminder, Flapping:
		return []Link{see, {"Isolate it…", page + "?do=isolate"}}
	case Isolated, Held, Ending, Endless:
		return []Link{see, {"Put it back…", page + "?do=release"}}
	case Ended, Calm, Released, Removed, Test:
	}
	return []Link{see}
}

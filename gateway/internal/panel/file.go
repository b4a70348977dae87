package panel

import "strings"

// File returns one of the files that pages are made from, such as
// "static/base.css" or "templates/parts/marks.html": another page of this program
// that is to look like the panel's is made from the same.
func File(name string) ([]byte, error) {
	if strings.HasPrefix(name, "templates/") {
		return templates.ReadFile(name)
	}
	return static.ReadFile(name)
}

//go:build !race

package panel

import "testing"

// On a phone a row has two lines: each of its cells is within it, and no row lies over
// another or out of the list.
func TestRowsOnPhone(t *testing.T) {
	h := newHouse(t, false, hotels(t, 6)...)
	h.trip("hotel-2")
	b := newBrowser(t, h)
	b.phone()
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open("/")
		if over := eval[[]string](b, `(() => {
			const list = document.querySelector('.list').getBoundingClientRect();
			const faults = [];
			let end = 0;
			for (const row of document.querySelectorAll('tr[data-id]')) {
				const at = row.getBoundingClientRect();
				if (at.top < end - 1 || at.bottom > list.bottom + 1) faults.push(row.dataset.id + ' lies over another, or out of the list');
				for (const cell of [...row.children].filter((c) => c.getClientRects().length > 0)) {
					const of = cell.getBoundingClientRect();
					if (of.top < at.top - 1 || of.bottom > at.bottom + 1 || of.right > at.right + 1) faults.push(row.dataset.id + ': ' + cell.className + ' is not within');
				}
				end = at.bottom;
			}
			return faults;
		})()`); len(over) > 0 {
			t.Errorf("%s: %q", theme, over)
		}
		eval[any](b, `document.querySelector('.list').scrollIntoView()`)
		b.shot("list-phone-"+theme, false)
	}
}

// Makes one tree of nodes like another and leaves alone what is alike: focus, what was
// typed, and where one has scrolled to stay.

const kept = (node) => node.nodeType === Node.ELEMENT_NODE && 'keep' in node.dataset;

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? '') === (b.id ?? '');

// morph changes the attributes and children of old to those of next. Children with
// an id are found wherever they stand; others by their place. What next only names, as
// the same, stays as it is.
export function morph(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  if (kept(old) || 'same' in next.dataset) return;
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  let at = old.firstChild;
  for (const want of next.childNodes) {
    const found = at && alike(at, want) ? at : want.id ? [...old.children].find((c) => alike(c, want)) : null;
    if (!found) {
      old.insertBefore(document.importNode(want, true), at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else old.insertBefore(found, at);
    morph(found, want);
  }
  while (at) {
    const rest = at.nextSibling;
    at.remove();
    at = rest;
  }
}

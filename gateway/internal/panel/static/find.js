// Filters and search of the list. Rows are hidden, never moved.

let state = '';

const box = () => document.querySelector('[data-find]');

// find hides the rows that do not fit, and the groups that have none left.
export function find() {
  const list = document.querySelector('.list');
  if (!list || !box()) return;
  const text = box().value.trim().toLowerCase();
  let shown = 0;
  for (const body of list.querySelectorAll('tbody')) {
    let inGroup = 0;
    for (const row of body.querySelectorAll('tr[data-id]')) {
      const fits = (state === '' || row.dataset.state === state) && row.dataset.search.includes(text);
      row.hidden = !fits;
      if (fits) inGroup++;
    }
    body.hidden = inGroup === 0;
    shown += inGroup;
  }
  list.querySelector('[data-none]').hidden = shown > 0;
  for (const button of list.querySelectorAll('[data-filter]')) {
    button.setAttribute('aria-pressed', String(button.dataset.filter === state));
  }
}

export function listen() {
  document.addEventListener('input', (e) => {
    if (e.target === box()) find();
  });
  document.addEventListener('click', (e) => {
    const filter = e.target.closest('[data-filter]');
    if (filter) state = filter.dataset.filter;
    const all = e.target.closest('[data-show-all]');
    if (all) {
      state = '';
      box().value = '';
    }
    if (filter || all) find();
  });
  document.addEventListener('keydown', (e) => {
    const typing = e.target.closest('input, textarea, select, dialog');
    if (e.key === '/' && !typing && box()) {
      e.preventDefault();
      box().focus();
    }
    if (e.key === 'Escape' && e.target === box()) {
      box().value = '';
      find();
    }
  });
}

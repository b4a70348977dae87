// The dialog in which somebody acts: what, for how long, and why; the whole act stands
// on its button, and can be undone for a while.

import { call, changed, explain, pathOf, reasonIn, sayWhy } from './api.js';
import { set, undo } from './override.js';

const undoFor = 10; // seconds
const dialog = document.querySelector('[data-dialog]');
const toast = document.querySelector('[data-toast]');
let was; // the dependency as it was looked at

const one = (selector) => dialog.querySelector(selector);
const chosen = (name) => one(`input[name="${name}"]:checked`);

// fill shows the dependency that is acted on.
function fill(d) {
  was = d;
  const out = (d.state === 'open' || d.state === 'half-open') && !d.shadow;
  const isolate = out ? 'Keep it cut off, with no trials, even if it is well again before.' : 'Cut all calls off. Callers are answered at once.';
  const texts = { id: d.id, name: d.name === d.id ? '' : d.name, state: `${d.state}: ${d.effect}`, explain: `— ${d.why}`, isolate };
  for (const e of dialog.querySelectorAll('[data-fill]')) e.textContent = texts[e.dataset.fill];
  one('[data-only="override"]').hidden = !d.override;
}

// words are the whole act.
function words() {
  const verb = chosen('mode').dataset.verb;
  const name = was.id.length > 40 ? `${was.id.slice(0, 39)}…` : was.id;
  if (chosen('mode').value === 'release') return `${verb} ${name} to automatic`;
  const span = chosen('for');
  let end = span.dataset.words;
  if (span.value === 'until') {
    const until = one('[name="until"]').value;
    end = until ? `until ${until.replace('T', ' ')}` : 'until …';
  }
  return `${verb} ${name} ${end}`;
}

function show() {
  one('[data-spans]').hidden = chosen('mode').value === 'release';
  one('[data-submit]').textContent = words();
}

async function open(id, mode) {
  let d;
  try {
    d = await call('GET', pathOf(id));
  } catch (problem) {
    tell(explain(problem));
    return;
  }
  dialog.querySelector('form').reset();
  one('[data-fault]').textContent = '';
  fill(d);
  if (mode === 'release' && !d.override) {
    tell(`Nothing was set by hand on ${d.id}: it is ${d.state}: ${d.effect}, by itself.`);
    return;
  }
  one(`[name="mode"][value="${mode ?? (d.override ? 'release' : 'isolated')}"]`).checked = true;
  show();
  dialog.showModal();
  one('textarea').focus();
}

function wanted() {
  const w = { mode: chosen('mode').value, reason: reasonIn(one('textarea')) };
  if (w.mode === 'release') return w;
  const span = chosen('for').value;
  if (span === '') return { ...w, no_expiry: true };
  if (span !== 'until') return { ...w, for: span };
  const until = new Date(one('[name="until"]').value);
  return { ...w, until: Number.isNaN(until.valueOf()) ? '1970-01-01T00:00:00Z' : until.toISOString() };
}

async function submit() {
  const button = one('[data-submit]');
  const fault = one('[data-fault]');
  fault.textContent = '';
  const w = wanted();
  if (w.reason === '') { // the gateway lets a release go without; people want to know
    fault.textContent = sayWhy;
    one('textarea').focus();
    return;
  }
  button.disabled = true;
  const before = was;
  try {
    const is = await set(was, w);
    dialog.close();
    tell(`Done: ${words()}.`, () => undo(before, is));
  } catch (problem) {
    fault.textContent = explain(problem);
    if (problem.status === 409 && problem.current) {
      fill(problem.current);
      fault.textContent = changed(was);
      show();
    }
  } finally {
    button.disabled = false;
  }
}

let countdown;

// tell says what was done, and lets it be undone for a while.
export function tell(text, back) {
  clearInterval(countdown);
  toast.hidden = false;
  toast.querySelector('[data-toast-text]').textContent = text;
  const button = toast.querySelector('[data-undo]');
  button.hidden = !back;
  let left = undoFor;
  const count = () => {
    toast.querySelector('[data-undo-left]').textContent = `(${left})`;
    if (left-- > 0) return;
    clearInterval(countdown);
    toast.hidden = true;
  };
  count();
  countdown = setInterval(count, 1000);
  button.onclick = async () => {
    clearInterval(countdown);
    button.hidden = true;
    try {
      await back();
      tell('Undone.');
    } catch (problem) {
      tell(`Not undone: ${explain(problem)}`);
    }
  };
}

// tryNow has the next call of an open dependency go through.
async function tryNow(button) {
  try {
    await call('POST', `${pathOf(button.dataset.trial)}/trial`, { if_version: Number(button.dataset.version) });
    tell('The next call goes through as a trial.');
  } catch (problem) {
    tell(explain(problem));
  }
}

// asked opens the dialog for what a link in a message asks for, once. It acts on
// nothing by itself.
function asked() {
  const address = new URL(location.href);
  const mode = { isolate: 'isolated', release: 'release' }[address.searchParams.get('do')];
  const id = document.querySelector('main [data-act]')?.dataset.act;
  if (!mode || document.body.dataset.page !== 'detail') return;
  address.searchParams.delete('do');
  history.replaceState(null, '', address);
  open(id, mode);
}

export function listen() {
  if (!dialog) return;
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-trial]');
    if (button) tryNow(button);
  });
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-act]');
    if (button) open(button.dataset.act);
  });
  for (const close of dialog.querySelectorAll('[data-close]')) close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('change', show);
  dialog.addEventListener('input', show);
  one('[name="until"]').addEventListener('input', () => {
    one('[name="for"][value="until"]').checked = true;
    show();
  });
  one('form').addEventListener('submit', (e) => {
    e.preventDefault();
    submit();
  });
  asked();
}

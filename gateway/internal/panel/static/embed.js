// One dependency with one button, in another site's frame. The token stands behind the
// # of the frame's address; without one the gateway goes by its own cookie.

import { call, changed, explain, pathOf, reasonIn, sayWhy } from './api.js';
import { clock, now, span } from './clock.js';
import { set } from './override.js';

const id = document.body.dataset.embed;
const token = decodeURIComponent(location.hash.slice(1));
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const one = (selector) => document.querySelector(selector);
const form = one('[data-form]');
const every = 3000;
let was;

const words = {
  closed: 'Calls have passed', open: 'Cut off', 'half-open': 'On trial', isolated: 'Cut off by hand',
  shadowed: 'Calls pass, would be cut off (shadow)', 'held-closed': 'Calls pass by hand', maintenance: 'Cut off as planned', unknown: 'No news',
};

const isSet = () => Boolean(was.override) && was.state !== 'maintenance';

function show(d) {
  was = d;
  const { override } = d;
  const state = d.shadow && (d.state === 'open' || d.state === 'half-open') ? 'shadowed' : d.state;
  one('[data-head]').className = `head ${state}`;
  one('[data-mark]').setAttribute('class', `mark ${state}`);
  one('[data-mark] use').setAttribute('href', `#mark:${state}`);
  one('[data-name]').textContent = d.name;
  one('[data-id-too]').textContent = d.name === d.id ? '' : d.id;
  // An outage lasts over failed trials; what it rests on is of the last of them.
  const ofStep = Date.parse(d.since);
  const since = d.state === 'open' || d.state === 'half-open' ? Date.parse(d.cut_off_since ?? d.since) : ofStep;
  let why = '';
  one('[data-word]').textContent = `${words[state]} for ${span(now() - since)}`;
  if (d.state !== 'closed') {
    one('[data-word]').textContent += `, since ${clock(since)}`;
    why = since === ofStep ? `· ${d.why}` : `· ${d.state === 'open' ? 'at' : 'since'} ${clock(ofStep)}: ${d.why}`;
  }
  if (override) why += ` — ${override.by}, ${override.until ? `until ${clock(Date.parse(override.until))}` : 'no end set'}`;
  else if (d.next_trial) why += ` · next trial in ${span(Date.parse(d.next_trial) - now())}`;
  one('[data-why]').textContent = why;
  const begin = one('[data-begin]');
  begin.hidden = !form.hidden || d.state === 'maintenance';
  begin.textContent = isSet() ? 'Put back…' : 'Isolate…';
}

async function look() {
  try {
    show(await call('GET', pathOf(id), undefined, headers));
    if (form.hidden) one('[data-fault]').textContent = '';
  } catch (problem) {
    one('[data-head]').className = 'head unknown';
    one('[data-mark]').setAttribute('class', 'mark unknown');
    one('[data-mark] use').setAttribute('href', '#mark:unknown');
    one('[data-word]').textContent = words.unknown;
    one('[data-why]').textContent = '';
    one('[data-begin]').hidden = true;
    one('[data-fault]').textContent = problem.status === 401
      ? 'The token of this page is not known, or has expired. Ask whoever runs the gateway.' : explain(problem);
  }
}

function name() {
  if (isSet()) return `Put ${was.id} back`;
  return `Isolate ${was.id} ${form.querySelector('[name="for"]:checked').dataset.words}`;
}

function ask(open) {
  form.hidden = !open;
  form.reset();
  one('[data-fault]').textContent = '';
  one('[data-spans]').hidden = isSet();
  one('[data-submit]').textContent = name();
  one('[data-means]').textContent = isSet() ? 'The rules decide again. One that was isolated is tried first.'
    : `Nobody is asked at ${was.name} until then: callers are answered at once.`;
  show(was);
  (open ? form.querySelector('textarea') : one('[data-begin]')).focus();
}

async function act() {
  const reason = reasonIn(form.querySelector('textarea'));
  if (reason === '') {
    one('[data-fault]').textContent = sayWhy;
    return;
  }
  const long = form.querySelector('[name="for"]:checked').value;
  const end = long ? { for: long } : { no_expiry: true };
  const wanted = isSet() ? { mode: 'release', reason } : { mode: 'isolated', reason, ...end };
  try {
    was = await set(looked, wanted, headers);
    ask(false);
  } catch (problem) {
    if (problem.status === 409 && problem.current) {
      show(problem.current);
      looked = problem.current;
      one('[data-submit]').textContent = name();
      one('[data-fault]').textContent = changed(was);
      return;
    }
    one('[data-fault]').textContent = explain(problem);
  }
}

let looked; // what was acted on, as it was when the form was opened

one('[data-begin]').addEventListener('click', () => {
  looked = was;
  ask(true);
});
one('[data-cancel]').addEventListener('click', () => ask(false));
form.addEventListener('change', () => {
  one('[data-submit]').textContent = name();
});
form.addEventListener('submit', (e) => {
  e.preventDefault();
  act();
});
look();
setInterval(look, every);

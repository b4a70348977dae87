// What the stream of the gateway brings: numbers into the page as text, and after a
// change of state the page anew, of which only what differs is touched.

import { localise, span } from './clock.js';
import { morph } from './morph.js';
import { show, showSpared } from './numbers.js';
import { put } from './states.js';

const silentFor = 4000; // numbers come every 2 s
const mostRows = 200; // of which an address is made: servers take no endless one
const failedTook = 200; // ms; so a page that did not come is asked for again in 2 s
const fewRows = 100;
const lateAfter = 3000;
let heard = Date.now();
let stops = false; // the gateway said so
let source;
let changed; // called after each time the page was renewed

// watch keeps the page live, and calls then after each time it was renewed.
export function watch(then) {
  changed = then;
  connect();
  setInterval(judge, 500);
  const every = Number(document.body.dataset.renew); // what the stream does not tell
  if (every) {
    setInterval(() => {
      if (!document.hidden) refresh([]);
    }, every * 1000);
  }
  addEventListener('pagehide', () => source.close());
  addEventListener('pageshow', (e) => {
    if (e.persisted) connect();
  });
}

function connect() {
  source = new EventSource('/api/v1/stream?numbers=true');
  let first = true;
  source.addEventListener('ready', () => {
    hear();
    if (!first) refresh(); // what came in between is not known
    first = false;
  });
  source.addEventListener('numbers', (e) => {
    hear();
    const stale = show(JSON.parse(e.data));
    if (stale.length > 0) refresh(stale);
  });
  for (const kind of ['transition', 'act', 'maintenance', 'removed']) {
    source.addEventListener(kind, (e) => {
      hear();
      const change = JSON.parse(e.data);
      if (kind === 'transition') tell(change);
      refresh(change.dependency ? [change.dependency] : undefined);
    });
  }
  source.addEventListener('spared', (e) => showSpared(JSON.parse(e.data)));
  source.addEventListener('dropped', () => refresh());
  source.addEventListener('bye', () => {
    stops = true;
    judge();
  });
}

function hear() {
  heard = Date.now();
  stops = false;
  judge();
}

// judge says whether the page shows how things are.
function judge() {
  const silent = Date.now() - heard;
  const live = !stops && silent <= silentFor;
  const late = dueSince ? Date.now() - dueSince : 0;
  let [is, word] = ['no', 'Not live'];
  if (live) [is, word] = late > lateAfter ? ['late', `${span(late)} behind`] : ['yes', 'Live'];
  const sign = document.querySelector('[data-live]');
  if (sign.dataset.live !== is) sign.dataset.live = is;
  const text = sign.querySelector('b');
  if (text.textContent !== word) text.textContent = word;
  document.querySelector('[data-not-live]').hidden = live;
  document.documentElement.toggleAttribute('data-stale', !live);
  if (!live) {
    document.querySelector('[data-silent]').textContent = span(silent);
    if (source.readyState === EventSource.CLOSED && silent % 3000 < 500) reopen();
  }
}

// reopen asks whether there is anybody: a browser does not try again by itself after
// an answer that is no stream, and who is not signed in any more must sign in.
async function reopen() {
  try {
    const answer = await fetch('/api/v1/me');
    if (answer.ok || answer.status === 401) location.reload();
  } catch {
    // nobody yet
  }
}

let untold = []; // changes of state that the page that was asked for may not have yet

// tell shows a change of state at once, and again if an older page comes after it.
function tell(change) {
  untold.push(change);
  put(change);
}

let dueSince; // what happened then is not shown yet; undefined: all is
let pending = false;
let again = false;
let took = 0; // the last time
let rows = new Set(); // that are not right any more
let whole = false; // nobody knows which

// refresh renews once for all that happens at about the same time, and the more
// rarely the longer that takes: many viewers of many dependencies must not be a load.
// Few are none, however slow the way to the gateway is. ids are the dependencies whose
// rows are not right any more; without, all may be.
export function refresh(ids) {
  dueSince ??= Date.now();
  if (ids) ids.forEach((id) => rows.add(id));
  else whole = true;
  if (pending) {
    again = true;
    return;
  }
  pending = true;
  const shown = document.querySelectorAll('[data-state]').length;
  const longest = shown > 0 && shown <= fewRows ? 2e3 : 10e3;
  setTimeout(async () => {
    again = false;
    const began = Date.now();
    const came = await renew();
    took = came ? Date.now() - began : failedTook;
    if (!again) dueSince = undefined;
    else if (came) dueSince = began;
    pending = false;
    if (again) refresh([]);
  }, Math.min(longest, Math.max(200, 10 * took)));
}

// wanted is the address of the page, of the list of all dependencies with only those
// rows that are not right any more.
function wanted() {
  const url = new URL(location.href);
  if (!whole && rows.size <= mostRows && document.body.dataset.page === 'overview') {
    for (const id of ['', ...rows]) url.searchParams.append('row', id);
  }
  rows = new Set();
  whole = false;
  return url;
}

// load returns the page. If it does not come, which rows it would have mended is not
// known any more; where there will be none, it is not asked for again.
async function load() {
  try {
    const answer = await fetch(wanted(), { headers: { Accept: 'text/html' } });
    if (answer.ok) return await answer.text();
    again ||= answer.status >= 500;
  } catch {
    again = true; // the banner says why
  }
  whole = true;
  return null;
}

// renew loads the page again and changes of it what differs. It returns false if the
// page did not come.
async function renew() {
  const before = untold.length;
  const text = await load();
  if (text === null) return false;
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  if (!fresh.querySelector('main')) return true;
  for (const part of ['[data-banners]', 'main']) morph(document.querySelector(part), fresh.querySelector(part));
  untold = untold.slice(before);
  untold.forEach(put);
  document.title = fresh.title;
  say(fresh.title);
  localise();
  changed();
  if (document.querySelector('[data-same]')) refresh(); // a row that was not there before
  return true;
}

let said = document.title;

// say tells those who do not see it what has changed.
function say(title) {
  if (title === said) return;
  said = title;
  document.querySelector('[data-say]').textContent = title;
}

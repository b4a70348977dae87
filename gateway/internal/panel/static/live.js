// What the stream of the gateway brings: numbers into the page as text, and after a
// change of state the page anew, of which only what differs is touched.

import { localise, span } from './clock.js';
import { morph } from './morph.js';
import { show, showSpared } from './numbers.js';

const silentFor = 4000; // numbers come every 2 s
const mostRows = 200; // of which an address is made: servers take no endless one
const failedTook = 200; // ms; so a page that did not come is asked for again in 2 s
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
      const { dependency } = JSON.parse(e.data);
      refresh(dependency ? [dependency] : undefined);
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
  const sign = document.querySelector('[data-live]');
  const word = live ? 'Live' : 'Not live';
  if (sign.dataset.live !== (live ? 'yes' : 'no')) {
    sign.dataset.live = live ? 'yes' : 'no';
    sign.querySelector('b').textContent = word;
  }
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

let pending = false;
let again = false;
let took = 0; // the last time
let rows = new Set(); // that are not right any more
let whole = false; // nobody knows which

// refresh renews once for all that happens at about the same time, and the more
// rarely the longer that takes: many viewers of many dependencies must not be a load.
// ids are the dependencies whose rows are not right any more; without, all may be.
export function refresh(ids) {
  if (ids) ids.forEach((id) => rows.add(id));
  else whole = true;
  if (pending) {
    again = true;
    return;
  }
  pending = true;
  setTimeout(async () => {
    again = false;
    const began = performance.now();
    const came = await renew();
    took = came ? performance.now() - began : failedTook;
    pending = false;
    if (again) refresh([]);
  }, Math.min(10e3, Math.max(200, 10 * took)));
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
  const text = await load();
  if (text === null) return false;
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  if (!fresh.querySelector('main')) return true;
  for (const part of ['[data-banners]', 'main']) morph(document.querySelector(part), fresh.querySelector(part));
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

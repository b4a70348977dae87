// The page as the demo sends it: of each view only what differs is touched.

import { morph } from './morph.js';

const silentFor = 4000; // views come every 0.5 s
let heard = Date.now();
let ended = false;
let phase = document.querySelector('main').dataset.phase;

const source = new EventSource('/stream');
source.addEventListener('view', (e) => {
  heard = Date.now();
  const next = new DOMParser().parseFromString(e.data, 'text/html').querySelector('main');
  morph(document.querySelector('main'), next);
  say(next.dataset.phase);
  judge();
});
source.addEventListener('bye', () => {
  ended = true;
  source.close();
  judge();
});
setInterval(judge, 500);

// judge says whether the page shows how things are.
function judge() {
  const silent = Date.now() - heard;
  const live = !ended && silent < silentFor;
  const sign = document.querySelector('[data-live]');
  if (sign.dataset.live !== (live ? 'yes' : 'no')) {
    sign.dataset.live = live ? 'yes' : 'no';
    sign.querySelector('b').textContent = live ? 'Live' : ended ? 'Ended' : 'Not live';
  }
  const banner = document.querySelector('[data-not-live]');
  const text = ended
    ? 'The demo has ended. This is how it looked last.'
    : `Not live: the last news came ${Math.round(silent / 1000)} s ago. Has the demo ended?`;
  if (!live && banner.textContent !== text) banner.textContent = text;
  banner.hidden = live;
  document.documentElement.toggleAttribute('data-stale', !live);
}

// say tells those who do not see it what has changed.
function say(next) {
  if (next === phase) return;
  phase = next;
  document.title = document.title.replace(/^[^–]*/, `${next} `);
  document.querySelector('[data-say]').textContent = next;
}

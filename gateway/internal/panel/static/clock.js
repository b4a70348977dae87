// Moments come from the gateway; the browser counts from them, by the gateway's clock.

const ahead = Date.parse(document.body.dataset.now) - Date.now();

// now is what the gateway's clock shows.
export const now = () => Date.now() + ahead;

// span writes milliseconds in at most two units, as the gateway does.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  const two = (big, bigName, small, smallName) => {
    const rest = Math.floor((s % big) / small);
    return `${Math.floor(s / big)} ${bigName}` + (rest > 0 ? ` ${rest} ${smallName}` : '');
  };
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(60, 'min', 1, 's');
  if (s < 86400) return two(3600, 'h', 60, 'min');
  return two(86400, 'd', 3600, 'h');
}

const format = (options) => new Intl.DateTimeFormat('en-GB', options);
const time = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const short = format({ hour: '2-digit', minute: '2-digit' });
const day = format({ day: 'numeric', month: 'short' });
const dayOfYear = format({ day: 'numeric', month: 'short', year: 'numeric' });
export const { timeZone } = time.resolvedOptions();

// clock writes a moment in the reader's own zone, with the day unless that is today; what
// is planned has its day always.
export function clock(moment, isShort, isPlanned) {
  const at = new Date(moment);
  const today = new Date(now());
  if (!isPlanned && at.toDateString() === today.toDateString()) return (isShort ? short : time).format(at);
  const date = (at.getFullYear() === today.getFullYear() ? day : dayOfYear).format(at);
  return `${date}${isShort ? ' ' : ', '}${short.format(at)}`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// tick brings what counts up to date.
export function tick() {
  for (const e of document.querySelectorAll('[data-since]')) {
    set(e, span(now() - Date.parse(e.dataset.since)));
  }
  for (const e of document.querySelectorAll('[data-until]')) {
    set(e, span(Date.parse(e.dataset.until) - now()));
  }
}

// localise writes clocks in the reader's own zone, and which that is.
export function localise() {
  for (const e of document.querySelectorAll('[data-clock]')) {
    const moment = Date.parse(e.dataset.clock);
    set(e, clock(moment, 'short' in e.dataset, 'planned' in e.dataset));
    e.title = new Date(moment).toISOString();
  }
  for (const e of document.querySelectorAll('[data-zone]')) set(e, timeZone);
  tick();
}

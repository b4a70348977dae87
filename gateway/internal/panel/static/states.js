// States of dependencies at once when they change, before the page is renewed, which
// may take long: marks, words and the headline.

// words are those of the pages.
const words = {
  open: 'Open: cut off', 'half-open': 'Half-open: on trial', shadowed: 'Shadow: passing', isolated: 'Isolated: cut off',
  'held-closed': 'Held closed: passing', maintenance: 'Maintenance: cut off', closed: 'Closed: passing',
};
const byRules = ['open', 'half-open'];

// stateOf is what a change of state leads to; undefined if that is not for sure here.
function stateOf({ to, by, key, shadow }) {
  if (key) return undefined; // of one breaker among many
  if (to === 'isolated' && by?.startsWith('maintenance ')) return 'maintenance';
  if (shadow && byRules.includes(to)) return 'shadowed';
  return to in words ? to : undefined;
}

// put shows what changed, in rows and tiles. An outage goes on over failed trials.
export function put(change) {
  const state = stateOf(change);
  const sign = state && document.querySelector(`[data-id="${CSS.escape(change.dependency)}"] [data-says]`);
  if (!sign) return;
  const part = sign.closest('[data-state]');
  const was = part.dataset.state;
  if (was === state) return;
  part.dataset.state = state;
  part.classList.replace(was, state);
  const mark = part.querySelector('.mark');
  mark.classList.replace(was, state);
  mark.querySelector('use').setAttribute('href', `#mark:${state}`);
  sign.textContent = words[state];
  const since = part.querySelector('[data-since]');
  if (since && !(byRules.includes(was) && byRules.includes(state))) since.dataset.since = change.at;
  headline();
}

// headline says how all are: what else is not as usual comes with the page.
function headline() {
  const states = [...document.querySelectorAll('[data-state]')].map((part) => part.dataset.state);
  if (states.length === 1) return;
  const cutOff = states.filter((s) => ['open', 'isolated', 'maintenance'].includes(s)).length;
  const n = cutOff || states.filter((s) => s === 'half-open').length;
  let text = `${n} of ${states.length} dependencies ${n === 1 ? 'is' : 'are'} ${cutOff ? 'cut off' : 'on trial'}`;
  if (n === 0) text = `All ${states.length} dependencies are passing calls`;
  const h1 = document.querySelector('h1');
  if (!h1.textContent.startsWith(text)) h1.textContent = text;
}

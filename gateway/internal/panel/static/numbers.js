// Numbers of dependencies, as text where the page has a place for them.

import { span } from './clock.js';

const grouped = new Intl.NumberFormat('fr-FR'); // 12 345, with a narrow space
const cutOff = new Set(['open', 'isolated', 'maintenance']);

function percent(share) {
  const p = share * 100;
  if (p > 0 && p < 1) return '< 1 %';
  if (p > 99 && p < 100) return '> 99 %';
  return `${Math.round(p)} %`;
}

function milliseconds(ms) {
  if (ms <= 0) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const leftOut = { run: 0, trials: 0, at_risk: false, seen_by: '', not_shared: false, refused: 0 };

// show writes numbers by dependency. It returns the dependencies of which the page
// itself is not right any more: they came near to a limit, or left it, or other nodes have
// seen them fail, or know now what was set on them.
export function show(all) {
  const stale = [];
  for (const part of document.querySelectorAll('[data-id]')) {
    const { id, state, shared, seen } = part.dataset;
    if (!Object.hasOwn(all, id)) continue;
    const n = { ...leftOut, ...all[id] };
    const risk = state === 'at-risk' ? !n.at_risk : state === 'closed' && n.at_risk;
    const fleet = shared && (n.not_shared !== (shared === 'no') || n.seen_by !== seen);
    if (risk || fleet) stale.push(id);
    write(part, n, cutOff.has(state));
  }
  return stale;
}

// showSpared writes what all of them spared together.
export function showSpared(spared) {
  const texts = { calls: grouped.format(spared.calls), wait: hours(spared.wait_ms) };
  for (const e of document.querySelectorAll('[data-spared]')) set(e, texts[e.dataset.spared]);
}

const hours = (ms) => (ms < 3600e3 ? span(ms) : `${(ms / 3600e3).toFixed(1)} h`);

function write(part, n, isCutOff) {
  const known = n.share !== null && !isCutOff;
  const noShare = known ? '' : isCutOff ? 'no calls pass' : 'not enough calls';
  const texts = {
    share: known ? percent(n.share) : '–',
    noShare,
    p95: milliseconds(n.p95_ms),
    rate: n.rate.toFixed(1),
    refused: grouped.format(n.refused),
    trials: n.trials > 0 ? String(n.trials) : undefined, // none, or it is not half-open any more
    judged: String(n.judged),
    run: String(n.run),
  };
  for (const e of part.querySelectorAll('[data-number]')) {
    const text = texts[e.dataset.number];
    if (text !== undefined) set(e, text);
    if (e.dataset.number === 'share') e.title = noShare;
  }
  part.querySelector('[data-bar]')?.setAttribute('width', known ? Math.round(n.share * 100) : 0);
  const columns = part.querySelector('[data-columns]');
  if (columns) push(columns, n.last);
}

// push moves the columns of the last minute on by one.
function push(svg, last) {
  const counts = svg.dataset.columns.split(' ').slice(1);
  counts.push(last.join(','));
  svg.dataset.columns = counts.join(' ');
  draw(svg);
}

function draw(svg) {
  const counts = svg.dataset.columns.split(' ').map((c) => c.split(',').map(Number));
  const most = Math.max(4, ...counts.map((c) => c[0] + c[1] + c[2]));
  const paths = ['', '', ''];
  counts.forEach((count, i) => {
    let at = 22;
    count.forEach((n, kind) => {
      if (n === 0) return;
      const height = (n * 22) / most;
      paths[kind] += `M${i * 4 + 2} ${at.toFixed(1)}v-${height.toFixed(1)}`;
      at -= height;
    });
  });
  svg.querySelectorAll('path').forEach((path, kind) => path.setAttribute('d', paths[kind]));
}

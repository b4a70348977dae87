// Charts of one dependency, from the API's series.

import { call, pathOf } from './api.js';
import { clock, now } from './clock.js';

const box = document.querySelector('[data-charts]');
// states whose times are marked: in which colour, and how else, as in the lanes.
const states = {
  open: { name: 'cut off: nothing to measure', colour: '--open', fill: slashes },
  isolated: { name: 'cut off by hand', colour: '--by-hand', fill: grid },
  maintenance: { name: 'cut off as planned', colour: '--planned', fill: bars },
  shadowed: { name: 'would be cut off (shadow)', colour: '--at-risk', fill: slashes, pale: true },
  'half-open': { name: 'on trial', colour: '--half-open', fill: dots },
  'held-closed': { name: 'passing by hand', colour: '--by-hand', fill: slashes, pale: true },
};
let minutes = 15;
let charts = [];
let shown; // the series, and from when to when

// resolve turns a colour of the style sheet into one that a canvas takes.
function resolve(name) {
  const probe = document.createElement('span');
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

// bands are the times in which the state was not closed.
function bands(points, step) {
  const all = [];
  for (const p of points) {
    const at = Date.parse(p.at) / 1000;
    const last = all.at(-1);
    if (!(p.state in states)) continue;
    if (last && last.state === p.state && at - last.to <= 2 * step) last.to = at + step;
    else all.push({ state: p.state, from: at, to: at + step });
  }
  return all;
}

function* steps(from, to, by) {
  for (let at = from; at < to; at += by * devicePixelRatio) yield at;
}

function stroke(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function slashes(ctx, { left, top, width, height }) {
  for (const x of steps(left - height, left + width, 12)) stroke(ctx, x, top + height, x + height, top);
}

function bars(ctx, { left, top, width, height }) {
  for (const x of steps(left, left + width, 8)) stroke(ctx, x, top, x, top + height);
}

function grid(ctx, at) {
  bars(ctx, at);
  for (const y of steps(at.top, at.top + at.height, 8)) stroke(ctx, at.left, y, at.left + at.width, y);
}

function dots(ctx, { left, top, width, height }) {
  const size = 2 * devicePixelRatio;
  for (const x of steps(left, left + width, 8)) {
    for (const y of steps(top, top + height, 8)) ctx.fillRect(x, y, size, size);
  }
}

// drawBands marks them: colour is not all that tells them apart.
function drawBands(all) {
  return (u) => {
    const { ctx, bbox } = u;
    for (const band of all) {
      const left = Math.max(bbox.left, u.valToPos(band.from, 'x', true));
      const width = Math.min(bbox.left + bbox.width, u.valToPos(band.to, 'x', true)) - left;
      if (width <= 0) continue;
      const at = { ...bbox, left, width };
      const { name, colour, fill, pale } = states[band.state];
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, at.top, width, at.height);
      ctx.clip();
      ctx.strokeStyle = ctx.fillStyle = resolve(colour);
      ctx.globalAlpha = pale ? 0 : 0.14;
      ctx.fillRect(left, at.top, width, at.height);
      ctx.globalAlpha = 0.3;
      fill(ctx, at);
      ctx.globalAlpha = 1;
      ctx.textAlign = 'left';
      ctx.font = `600 ${11 * devicePixelRatio}px system-ui, sans-serif`;
      if (width > ctx.measureText(name).width + 12 * devicePixelRatio) ctx.fillText(name, left + 6 * devicePixelRatio, at.top + 14 * devicePixelRatio);
      ctx.restore();
    }
  };
}

// drawLimit is the dashed line that must not be reached.
function drawLimit(limit, text) {
  return (u) => {
    if (!limit || limit > u.scales.y.max) return;
    const y = u.valToPos(limit, 'y', true);
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = resolve('--ink');
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(u.bbox.left + u.bbox.width, y);
    ctx.stroke();
    ctx.textAlign = 'left';
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.fillText(text, u.bbox.left + 6 * devicePixelRatio, y - 5 * devicePixelRatio);
    ctx.restore();
  };
}

function chart(into, data, { height, across, range, line, limit, text, marked }) {
  const axis = { stroke: resolve('--dim'), grid: { stroke: resolve('--faint'), width: 1 }, ticks: { stroke: resolve('--faint') }, font: '11px system-ui, sans-serif' };
  return new uPlot({
    width: into.clientWidth, height, legend: { show: false }, cursor: { show: false },
    scales: { x: { range: across }, y: { range } },
    axes: [{ ...axis, values: (_, splits) => splits.map((s) => clock(s * 1000, true).replace(/ (?=[\d:]+$)/, '\n')) }, { ...axis, size: 52 }],
    series: [{}, { stroke: resolve(line), width: 1.5, spanGaps: false }],
    hooks: { drawAxes: [drawBands(marked)], draw: [drawLimit(limit, text)] },
  }, data, into);
}

async function load() {
  const to = new Date(now());
  const from = new Date(to - minutes * 60e3);
  try {
    const series = await call('GET', `${pathOf(box.dataset.charts)}/series?from=${from.toISOString()}&to=${to.toISOString()}`);
    shown = { series, across: [from / 1000, to / 1000] };
  } catch {
    return; // the banner says it
  }
  draw();
}

function draw() {
  if (!shown) return;
  const { series, across } = shown;
  const { points } = series;
  const step = series.step_ms / 1000;
  const smooth = Math.max(1, Math.round(10 / step)); // shares of single seconds only flicker
  const xs = [];
  const shares = [];
  const p95s = [];
  for (let i = 0; i < points.length; i += smooth) {
    const group = points.slice(i, i + smooth);
    const bad = group.reduce((n, p) => n + p.failed + p.slow, 0);
    const all = group.reduce((n, p) => n + p.good, bad);
    xs.push(Date.parse(group[0].at) / 1000);
    shares.push(all > 0 ? (100 * bad) / all : null);
    p95s.push(all > 0 ? Math.max(...group.map((p) => p.p95_ms)) : null);
  }
  for (const c of charts) c.destroy();
  charts = [];
  box.querySelector('[data-none]').hidden = xs.length > 0;
  for (const e of box.querySelectorAll('h3, [data-chart]')) e.hidden = xs.length === 0;
  if (xs.length === 0) return;
  const marked = bands(points, step);
  const limit = Number(box.dataset.limit);
  charts.push(chart(box.querySelector('[data-chart="share"]'), [xs, shares], {
    height: 190, range: [0, 100], line: '--open', limit, text: `limit ${limit} %`, marked, across,
  }));
  charts.push(chart(box.querySelector('[data-chart="p95"]'), [xs, p95s], {
    height: 150, range: (_, __, most) => [0, Math.max(1, most * 1.15)], line: '--link', limit: Number(box.dataset.slow), text: 'slow', marked, across,
  }));
}

for (const button of box.querySelectorAll('[data-back]')) {
  button.addEventListener('click', () => {
    minutes = Number(button.dataset.back);
    for (const b of box.querySelectorAll('[data-back]')) b.setAttribute('aria-pressed', String(b === button));
    load();
  });
}
load();
setInterval(() => {
  if (!document.hidden) load();
}, 10e3);
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ['data-theme'] });

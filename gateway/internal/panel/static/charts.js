// Charts of one dependency, from the API's series.

import { call, pathOf } from './api.js';
import { clock, now } from './clock.js';

const box = document.querySelector('[data-charts]');
const names = { open: 'cut off: nothing to measure', isolated: 'isolated', maintenance: 'maintenance', 'half-open': 'on trial' };
const colours = { open: '--open', isolated: '--by-hand', maintenance: '--planned', 'half-open': '--half-open' };
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
    if (!(p.state in names)) continue;
    if (last && last.state === p.state && at - last.to <= 2 * step) last.to = at + step;
    else all.push({ state: p.state, from: at, to: at + step });
  }
  return all;
}

// drawBands hatches them: colour is not all that tells them apart.
function drawBands(all) {
  return (u) => {
    const { ctx } = u;
    const { top, height, left, width } = u.bbox;
    for (const band of all) {
      const from = Math.max(left, u.valToPos(band.from, 'x', true));
      const to = Math.min(left + width, u.valToPos(band.to, 'x', true));
      if (to <= from) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(from, top, to - from, height);
      ctx.clip();
      const ink = resolve(colours[band.state]);
      ctx.globalAlpha = 0.14;
      ctx.fillStyle = ink;
      ctx.fillRect(from, top, to - from, height);
      ctx.globalAlpha = 0.3;
      ctx.strokeStyle = ink;
      if (band.state !== 'half-open') {
        for (let x = from - height; x < to; x += 12 * devicePixelRatio) {
          ctx.beginPath();
          ctx.moveTo(x, top + height);
          ctx.lineTo(x + height, top);
          ctx.stroke();
        }
      }
      ctx.globalAlpha = 1;
      ctx.textAlign = 'left';
      ctx.fillStyle = ink;
      ctx.font = `600 ${11 * devicePixelRatio}px system-ui, sans-serif`;
      if (to - from > 60 * devicePixelRatio) ctx.fillText(names[band.state], from + 6 * devicePixelRatio, top + 14 * devicePixelRatio);
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
  if (xs.length === 0) return;
  const marked = bands(points, step);
  const limit = Number(box.dataset.limit);
  charts.push(chart(box.querySelector('[data-chart="share"]'), [xs, shares], {
    height: 190, range: [0, 100], line: '--open', limit, text: `opens at ${limit} %`, marked, across,
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

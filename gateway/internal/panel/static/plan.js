// Planning a maintenance, and ending one.

import { tell } from './act.js';
import { call, explain, query, reasonIn, sayWhy } from './api.js';
import { timeZone } from './clock.js';
import { refresh } from './live.js';

const path = '/api/v1/maintenance';
const form = document.querySelector('[data-plan]');
const dialog = document.querySelector('[data-end-dialog]');

const chosen = (name) => [...form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);

// change changes what is planned, and shows it: the stream tells of nothing that is not
// in force.
async function change(method, at, body) {
  const answer = await call(method, `${path}${at}`, body);
  refresh();
  return answer;
}

// wanted is the plan that the form asks for.
function wanted() {
  const field = (name) => form.elements[name].value.trim();
  const moment = (name) => (field(name) ? new Date(field(name)).toISOString() : undefined);
  const plan = {
    name: field('name') || undefined, groups: chosen('groups'), dependencies: chosen('dependencies'),
    effect: field('effect'), reason: reasonIn(form.elements.reason),
  };
  if (form.elements.kind.value === 'once') return { ...plan, from: moment('from'), to: moment('to') };
  return { ...plan, calendar: { days: chosen('days'), from: field('at'), for: field('for'), zone: field('zone') || undefined } };
}

// missing says all that a plan lacks: the gateway would ask for one after the other.
function missing({ groups, dependencies, reason, to, calendar }) {
  return [
    groups.length + dependencies.length === 0 && 'Choose a group or a dependency.',
    !to && !calendar && 'Say until when.',
    calendar?.days.length === 0 && 'Choose a day of the week.',
    calendar && !calendar.from && 'Say when it begins.',
    calendar && !calendar.for && 'Say how long it lasts.',
    reason === '' && sayWhy,
  ].filter(Boolean).join(' ');
}

async function submit() {
  const fault = form.querySelector('[data-plan-fault]');
  const asked = wanted();
  fault.textContent = missing(asked);
  if (fault.textContent !== '') return;
  try {
    const plan = await change('POST', '', asked);
    form.reset();
    show();
    tell(`Planned: ${plan.name}.`, () => change('DELETE', `/${plan.id}${query({ reason: 'undone at once' })}`));
  } catch (problem) {
    fault.textContent = explain(problem);
  }
}

// again is a plan as it was.
function again({ name, groups, dependencies, labels, effect, reason, from, to, calendar }) {
  return { name, groups, dependencies, labels, effect, reason, from: from ?? undefined, to: to ?? undefined, calendar: calendar ?? undefined };
}

const count = (n, one, many) => (n === 1 ? `1 ${one}` : `${n} ${many}`);

// show has the form ask for what it needs, and its button say all of it.
function show() {
  for (const part of form.querySelectorAll('[data-kind]')) part.hidden = part.dataset.kind !== form.elements.kind.value;
  const [groups, ids] = [chosen('groups'), chosen('dependencies')];
  const what = [
    groups.length > 0 && count(groups.length, 'group', 'groups'),
    ids.length > 0 && (ids.length === 1 ? ids[0] : count(ids.length, 'dependency', 'dependencies')),
  ].filter(Boolean).join(' and ');
  const verb = form.elements.effect.value === 'cut-off' ? 'Plan to cut off' : 'Plan no messages about';
  form.querySelector('[data-plan-submit]').textContent = `${verb} ${what || '…'}`;
}

if (form) {
  form.elements.zone.value = timeZone;
  form.elements.zone.defaultValue = form.elements.zone.value; // after a reset, too
  show();
  form.addEventListener('change', show);
  form.querySelector('[data-pick-find]').addEventListener('input', (e) => {
    const text = e.target.value.trim().toLowerCase();
    for (const label of form.querySelectorAll('[data-picks] label')) label.hidden = !label.textContent.toLowerCase().includes(text);
  });
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    submit();
  });
}

if (dialog) {
  let id;
  const fault = dialog.querySelector('[data-fault]');
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-end]');
    if (!button) return;
    id = button.dataset.end;
    dialog.querySelector('form').reset();
    fault.textContent = '';
    dialog.querySelector('[data-end-name]').textContent = button.dataset.name;
    dialog.querySelector('[data-end-submit]').textContent = `End ${button.dataset.name}`;
    dialog.showModal();
    dialog.querySelector('textarea').focus();
  });
  dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close());
  dialog.querySelector('form').addEventListener('submit', async (e) => {
    e.preventDefault();
    const reason = reasonIn(dialog.querySelector('textarea'));
    if (reason === '') {
      fault.textContent = sayWhy;
      return;
    }
    try {
      const at = `/${encodeURIComponent(id)}`;
      const was = await call('GET', `${path}${at}`);
      await change('DELETE', `${at}${query({ reason })}`);
      dialog.close();
      tell(`Ended: ${was.name}.`, () => change('POST', '', again(was)));
    } catch (problem) {
      fault.textContent = explain(problem);
    }
  });
}

// Planning a maintenance, and ending one.

import { tell } from './act.js';
import { call, explain, query, sayWhy } from './api.js';

const path = '/api/v1/maintenance';
const form = document.querySelector('[data-plan]');
const dialog = document.querySelector('[data-end-dialog]');

const chosen = (name) => [...form.elements[name]?.selectedOptions ?? []].map((o) => o.value);

// wanted is the plan that the form asks for. What is left out the gateway asks for.
function wanted() {
  const field = (name) => form.elements[name].value.trim();
  const moment = (name) => (field(name) ? new Date(field(name)).toISOString() : undefined);
  const plan = {
    name: field('name') || undefined, groups: chosen('groups'), dependencies: chosen('dependencies'),
    effect: field('effect'), reason: field('reason'),
  };
  if (form.elements.kind.value === 'once') return { ...plan, from: moment('from'), to: moment('to') };
  const days = [...form.querySelectorAll('[name="days"]:checked')].map((d) => d.value);
  return { ...plan, calendar: { days, from: field('at'), for: field('for'), zone: field('zone') || undefined } };
}

async function submit() {
  const fault = form.querySelector('[data-plan-fault]');
  fault.textContent = '';
  try {
    const plan = await call('POST', path, wanted());
    form.reset();
    showKind();
    tell(`Planned: ${plan.name}.`, () => call('DELETE', `${path}/${plan.id}${query({ reason: 'undone at once' })}`));
  } catch (problem) {
    fault.textContent = explain(problem);
  }
}

function showKind() {
  for (const part of form.querySelectorAll('[data-kind]')) part.hidden = part.dataset.kind !== form.elements.kind.value;
}

if (form) {
  form.elements.zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  form.addEventListener('change', showKind);
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
    const reason = dialog.querySelector('textarea').value.trim();
    if (reason === '') {
      fault.textContent = sayWhy;
      return;
    }
    try {
      await call('DELETE', `${path}/${encodeURIComponent(id)}${query({ reason })}`);
      dialog.close();
      tell('Ended.');
    } catch (problem) {
      fault.textContent = explain(problem);
    }
  });
}

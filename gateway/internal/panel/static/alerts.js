// Tests of channels: whether what is sent arrives.

import { tell } from './act.js';
import { call, explain } from './api.js';
import { refresh } from './live.js';

const running = new Set();

const words = (d) => (d.result === 'accepted' ? `${d.channel} accepted it` : `${d.channel} did not take it: ${d.fault}`);

async function test(channel) {
  if (running.has(channel)) return;
  running.add(channel);
  tell(channel ? `Testing ${channel}…` : 'Testing all channels…');
  try {
    const { deliveries } = await call('POST', '/api/v1/alerts/test', channel ? { channel } : {});
    tell(`${deliveries.map(words).join('; ')}.`);
  } catch (problem) {
    tell(explain(problem));
  }
  running.delete(channel);
  refresh();
}

document.addEventListener('click', (e) => {
  const button = e.target.closest('[data-test]');
  if (button) test(button.dataset.test);
});

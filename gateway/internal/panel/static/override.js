// Setting, taking back and undoing what an operator sets on a dependency.

import { call, pathOf, query } from './api.js';

// set does what is wanted to a dependency as it was when it was looked at: wanted has
// mode, reason, and for, until or no_expiry.
export function set(was, wanted, headers) {
  if (wanted.mode === 'release') {
    return call('DELETE', `${pathOf(was.id)}/override${query({ reason: wanted.reason, if_version: was.version })}`, undefined, headers);
  }
  return call('PUT', `${pathOf(was.id)}/override`, { ...wanted, if_version: was.version }, headers);
}

// undo brings back what was set before, if nothing has changed since.
export async function undo(was, is) {
  const reason = 'undone at once';
  if (was.override) {
    const { state, until, reason: why } = was.override;
    const end = until ? { until } : { no_expiry: true };
    return call('PUT', `${pathOf(was.id)}/override`, { mode: state, reason: why, ...end, if_version: is.version });
  }
  const back = await call('DELETE', `${pathOf(was.id)}/override${query({ reason, if_version: is.version })}`);
  if (was.automatic !== 'closed' || back.state === 'closed') return back;
  return call('POST', `${pathOf(was.id)}/reset`, { reason, if_version: back.version });
}

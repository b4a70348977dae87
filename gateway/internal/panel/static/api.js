// Requests to the gateway's API, the same that every other program has.

// Problem is an answer that says what went wrong.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? 'the gateway did not answer as expected');
    this.status = status;
    this.errors = body.errors ?? [];
    this.current = body.current;
  }
}

function key() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

// tidy takes out of text by others what would turn around or hide what is beside it.
const tidy = (_, value) => (typeof value === 'string' ? value.replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, ' ') : value);

// call returns the answer's body, or throws a Problem.
export async function call(method, path, body, headers = {}) {
  const request = { method, headers: { Accept: 'application/json', ...headers } };
  if (method !== 'GET') request.headers['Idempotency-Key'] = key();
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers['Content-Type'] = 'application/json';
  }
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Problem(0, { detail: 'The gateway does not answer. Nothing is known to have been done; look again.' });
  }
  const text = await answer.text();
  let data = {};
  try {
    data = text === '' ? {} : JSON.parse(text, tidy);
  } catch {
    data = { detail: text };
  }
  if (!answer.ok) throw new Problem(answer.status, data);
  return data;
}

export const pathOf = (id) => `/api/v1/dependencies/${encodeURIComponent(id)}`;

// query writes parameters of an act without a body.
export const query = (fields) => `?${new URLSearchParams(fields)}`;

// reasonIn is what was written, in one line: it goes into logs and messages.
export const reasonIn = (textarea) => textarea.value.trim().replace(/\s+/g, ' ');

export const sayWhy = 'Say why: everybody who looks sees it.';

// changed says that an act was meant for what a dependency is not any more.
export const changed = (d) => `It has changed meanwhile and is ${d.state} (${d.effect}) now. Decide anew.`;

const words = {
  'body.reason': sayWhy,
  'query.reason': 'Say why, in one line.',
  'body.until': 'The end must lie ahead.',
  'body.to': 'The end must lie ahead.',
};

// plainly writes the faults of a plan, which come as lines of the kind
// "maintenance: calendar.zone: what is wrong".
const plainly = (message) => message.split('\n').map((line) => line.replace(/^maintenance: /, '')).join('; ');

// explain writes a problem for people.
export function explain(problem) {
  const said = problem.errors.map(({ location, message }) => words[location] ?? (location === 'body' ? plainly(message) : `${location}: ${message}`));
  return said.length > 0 ? [...new Set(said)].join(' ') : problem.message;
}

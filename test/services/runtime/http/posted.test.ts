import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { DECIDE } from '../../../../schemas/operations-api/document.ts';
import { posted } from '../../../../services/runtime/http/posted.ts';

const ID = '6db65fd5-9fd3-86f6-b291-40571b5bcd6b';
const SENT = {
  verb: 'approve',
  deposit_ids: [ID],
  actor: 'alice',
  reason: 'known to us',
  sequence: 0,
  decided_at: 1,
  signature: `0x${'5b'.repeat(65)}`,
};

/** The answer to a body, which shows the values that the handler is given. */
async function answered(body: string, type = 'application/json'): Promise<object> {
  const { handle } = posted(DECIDE, (values) => ({ status: 200, body: JSON.stringify(values) }));
  const headers = { 'content-type': type, 'content-length': String(body.length) };
  const request = Object.assign(Object(Readable.from([body])), { headers, params: {}, query: {} });
  return handle(request);
}

test('the fields of a body are read, and others are ignored', async () => {
  expect(await answered(JSON.stringify({ ...SENT, more: 1 }))).toEqual({
    status: 200,
    body: JSON.stringify(SENT),
  });
});

test.each(['', '{', 'null', '5'])('%j is no JSON object', async (body) => {
  expect(await answered(body)).toMatchObject({ message: 'the body is a JSON object' });
});

test('a body that a form can send is refused', async () => {
  expect(await answered(JSON.stringify(SENT), 'text/plain')).toMatchObject({
    refused: 'invalid_request',
    message: 'the body is JSON, with its length',
  });
});

test.each([
  [{ verb: 'void' }, 'verb is one of approve, reject'],
  [{ deposit_ids: [] }, 'deposit_ids is a list of 1 to 1000 ids'],
  [{ deposit_ids: [5] }, 'deposit_ids is a list of 1 to 1000 ids'],
  [{ actor: undefined }, 'actor is missing: it is text'],
  [{ reason: null }, 'reason is missing: it is text'],
  [{ sequence: -1 }, 'sequence is missing: it is a whole number'],
  [{ sequence: 2 ** 53 }, 'sequence is missing: it is a whole number'],
  [{ decided_at: '1' }, 'decided_at is missing: it is a whole number'],
  [{ signature: '0x12' }, 'signature is r, s and v: 0x and 130 hex digits'],
])('a field that does not fit is refused by its name: %j', async (wrong, message) => {
  const body = JSON.stringify({ ...SENT, ...wrong });
  expect(await answered(body)).toEqual({ refused: 'invalid_request', message });
});

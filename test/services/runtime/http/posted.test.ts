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
async function answered(body: string | Buffer | undefined): Promise<object> {
  const { handle } = posted(DECIDE, (values) => ({ status: 200, body: JSON.stringify(values) }));
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return handle(Object({ body: bytes, headers: {}, params: {}, query: {} }));
}

test('the fields of a body are read, and others are ignored', async () => {
  expect(await answered(JSON.stringify({ ...SENT, more: 1 }))).toEqual({
    status: 200,
    body: JSON.stringify(SENT),
  });
});

test.each([
  ['null', 'the body is a JSON object'],
  ['5', 'the body is a JSON object'],
  ['', 'the body is not JSON'],
  ['{', 'the body is not JSON'],
  [Buffer.from('{"actor":"\xff"}', 'latin1'), 'the body is not UTF-8'],
  // such as one that a form can send
  [undefined, 'the body is JSON, with content-type application/json'],
])('the body %j is refused: %s', async (body, message) => {
  expect(await answered(body)).toEqual({ refused: 'invalid_request', message });
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

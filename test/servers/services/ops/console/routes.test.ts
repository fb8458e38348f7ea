import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { decisionText } from '../../../../../schemas/operator-signature.ts';
import { depositEvents } from '../../../../support/deposit-events.ts';
import { alice, bob, mallory, signed } from '../../../../support/operators.ts';
import {
  ask,
  openOperations,
  signedIn,
  tokenOf,
  type OperationsServer,
} from '../../../../services/ops/console/operations-server.ts';

let server: OperationsServer;
let url: string;
let token: string;

beforeAll(async () => {
  server = await openOperations(inject('stack'));
  ({ url } = server);
  token = await tokenOf(url, alice);
});

afterAll(() => server.close());

test.each([
  ['operations', undefined],
  ['topics', undefined],
  ['records?topic=treasury.ledger', undefined],
  ['deposits/6db65fd5-9fd3-86f6-b291-40571b5bcd6b', undefined],
  ['waiting?below=0.01', undefined],
  ['proposals', {}],
  ['decisions', {}],
  ['sign-out', {}],
])('%s without a session is refused, and so with a token of nobody', async (path, body) => {
  for (const given of [undefined, 'x'.repeat(43)])
    expect(await ask(url, path, given, body)).toEqual({
      status: 401,
      body: { code: 'unauthorized', message: expect.stringContaining('sign in') },
    });
});

/** The status of a request that names this host. */
async function statusAt(host: string): Promise<unknown> {
  const { port } = new URL(url);
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/health', headers: { host } })
      .on('response', (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

test.each([
  'evil.example',
  'localhost:99999',
  '[::1]:70000',
  '127.0.0.1:-1',
  'localhost:8x',
  'localhost@evil.example',
  'me@localhost',
  'localhost/',
  'localhost?q',
  'localhost#x',
  '[::1',
])('a page of the host "%s", which is another or none, is refused', async (host) => {
  expect(await statusAt(host)).toBe(403);
});

test.each(['localhost', 'LOCALHOST:80', '127.0.0.1:65535', '[::1]:1'])(
  'the host %s is this machine',
  async (host) => {
    expect(await statusAt(host)).toBe(200);
  },
);

test('a key of nobody among the operators does not sign in, and a text signs in once', async () => {
  expect(await signedIn(url, mallory)).toMatchObject({
    status: 401,
    body: { code: 'foreign_key' },
  });
  const { body } = await ask(url, 'challenges', undefined, { address: bob.address });
  const text = String(body['text']);
  const given = { text, signature: await bob.signMessage(text) };
  expect(await ask(url, 'sessions', undefined, given)).toMatchObject({ status: 200 });
  expect(await ask(url, 'sessions', undefined, given)).toMatchObject({
    status: 401,
    body: { code: 'unknown_challenge' },
  });
});

test('a body that a form of another page can send is refused', async () => {
  const response = await fetch(`${url}/api/v1/challenges`, {
    method: 'POST',
    body: JSON.stringify({ address: alice.address }),
  });
  expect(response.status).toBe(400);
});

test('after a sign-out the token is of nobody', async () => {
  const own = await tokenOf(url, bob);
  expect(await ask(url, 'sign-out', own, {})).toMatchObject({ status: 200 });
  expect(await ask(url, 'topics', own)).toMatchObject({ status: 401 });
});

test('the state has projections, services, deposits, quarantine, rebuilds and alerts', async () => {
  expect(await ask(url, 'operations', token)).toMatchObject({
    status: 200,
    body: {
      ledger: { problem: null, network: 'testnet', operators: 2 },
      status: {
        is: {
          node: { height: 6, finalized_height: 4 },
          services: [{ name: 'treasury', status: 'ready', metrics: { 'lease held': 1 } }],
          projections: [{ projection: 'deposits', topic: 'treasury.ledger', lag: '0' }],
        },
      },
      quarantine: { is: [{ projection: 'explorer', offset: '41', state: 'halts' }] },
      rebuilds: {
        is: [
          {
            projection: 'deposits',
            task: 'rebuild',
            state: 'stopped',
            records: '4',
            records_all: String(server.records),
          },
        ],
      },
      waiting: {
        is: {
          deposits: [{ id: server.held[2] }, { id: server.held[1] }, { id: server.held[0] }],
          dust: { below: '10000', deposits: 3, amount: '6' },
        },
      },
      alerts: { is: [{ name: 'ReserveMismatch', state: 'firing', severity: 'page' }] },
    },
  });
});

interface Line {
  readonly type?: string;
  readonly offset?: string;
}

/** The first records of a stream. */
async function firstLines(query: string, count: number): Promise<readonly Line[]> {
  const response = await fetch(`${url}/api/v1/records?${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (response.body === null) throw new Error('a stream without a body');
  let text = '';
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    if (text.split('\n').length > count) break;
  }
  return text
    .split('\n')
    .slice(0, count)
    .map((line): Line => JSON.parse(line));
}

test('records are streamed with the filters of ops tail', async () => {
  const all = await firstLines('topic=treasury.ledger&last=3', 3);
  expect(all.map(({ offset }) => offset)).toEqual(
    [3, 2, 1].map((back) => String(server.records - back)),
  );
  const found = await firstLines(
    'topic=treasury.ledger&from=0&where=type+%3D+DepositHeld+and+reason+%3D+over_single_cap',
    1,
  );
  expect(found).toMatchObject([{ type: 'DepositHeld', value: { deposit_id: server.held[2] } }]);
});

test.each([
  ['topic=no.topic', 400, 'there is no topic'],
  ['topic=treasury.ledger&type=Nothing', 400, 'has no events of type'],
  ['topic=treasury.ledger&where=amount+%3D', 400, 'expected'],
  ['topic=treasury.ledger&last=5&from=0', 400, 'keep one of them'],
  ['topic=treasury.ledger&partition=9', 400, 'has partitions 0 to 0'],
])('records?%s is refused', async (query, status, message) => {
  expect(await ask(url, `records?${query}`, token)).toMatchObject({
    status,
    body: { message: expect.stringContaining(message) },
  });
});

const PERSON = { actor: 'alice', reason: 'known to us' };

interface Proposed {
  readonly place: { readonly sequence: number; readonly decided_at: number };
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

async function proposed(ids: readonly string[], verb: string): Promise<Proposed> {
  const { body } = await ask(url, 'proposals', token, { verb, deposit_ids: ids, ...PERSON });
  return {
    body,
    place: { sequence: Number(body['sequence']), decided_at: Number(body['decided_at']) },
    text: String(body['text']),
  };
}

test('a decision counts with the signature of the operator who is signed in, and no other', async () => {
  const [id] = server.held;
  const { text, place } = await proposed([id], 'approve');
  expect(text).toBe(decisionText({ type: 'DepositApproved', deposit_id: id, ...PERSON, ...place }));
  const decide = async (given: object): Promise<unknown> => {
    const body = { verb: 'approve', deposit_ids: [id], ...PERSON, ...place, ...given };
    return ask(url, 'decisions', token, body);
  };
  const signature = await alice.signMessage(text);
  const wrong = [
    { signature: await mallory.signMessage(text) },
    { signature: await alice.signMessage(`${text} `) },
    { signature, reason: 'another reason' },
    { signature, verb: 'reject' },
    { signature, decided_at: place.decided_at - 1 },
  ];
  for (const given of wrong)
    expect(await decide(given)).toMatchObject({ status: 400, body: { code: 'not_an_operator' } });
  expect(await decide({ signature, sequence: place.sequence - 1 })).toMatchObject({
    status: 409,
    body: { code: 'ledger_moved' },
  });
  expect(await decide({ signature: '0x12' })).toMatchObject({ status: 400 });
  expect(await decide({ signature, decided_at: place.decided_at - 3_600_000 })).toMatchObject({
    status: 409,
    body: { code: 'too_late' },
  });
  expect((await server.ledger()).deposit(id).status).toBe('needs_manual');

  expect(await decide({ signature })).toMatchObject({
    status: 200,
    body: { appended: { topic: 'treasury.ledger', offset: String(place.sequence) } },
  });
  expect((await server.ledger()).deposit(id)).toMatchObject({ status: 'confirmed' });
  expect(await decide({ signature })).toMatchObject({ status: 200, body: { appended: null } });
});

test('a decision whose place another record took is refused, and counts when signed again', async () => {
  const [, id] = server.held;
  const first = await proposed([id], 'reject');
  const { sequence } = first.place;
  const other = { ...depositEvents(server.held[2]).approved(), sequence };
  await server.append(signed(other, bob));
  const decide = async ({ text, place }: Proposed): Promise<unknown> =>
    ask(url, 'decisions', token, {
      verb: 'reject',
      deposit_ids: [id],
      ...PERSON,
      ...place,
      signature: await alice.signMessage(text),
    });
  expect(await decide(first)).toMatchObject({ status: 409, body: { code: 'ledger_moved' } });
  expect(await decide(await proposed([id], 'reject'))).toMatchObject({ status: 200 });
  expect((await server.ledger()).deposit(id)).toMatchObject({ rejected: true });
});

test('all that wait below an amount are decided with one signature, which is for just these', async () => {
  const waiting = await ask(url, 'waiting?below=0.01', token);
  const { dust, held } = server;
  expect(waiting).toMatchObject({
    body: { deposits: dust.toReversed().map((id) => ({ id })), has_more: false },
  });
  expect(await ask(url, 'waiting?below=little', token)).toMatchObject({ status: 400 });
  const before = (await server.ledger()).end;
  const { text, body, place } = await proposed([held[1], ...dust], 'reject');
  expect(body).toMatchObject({
    deposit_ids: dust,
    left_out: [{ deposit_id: held[1], why: 'it was decided so before' }],
  });
  expect(text).toBe(
    decisionText({
      type: 'DepositsDecided',
      decision: 'reject',
      deposit_ids: dust,
      gross: 6n,
      credit: 6n,
      ...PERSON,
      ...place,
    }),
  );
  const signature = await alice.signMessage(text);
  const decide = async (given: object): Promise<unknown> => {
    const asked = { verb: 'reject', deposit_ids: dust, ...PERSON, ...place, signature };
    return ask(url, 'decisions', token, { ...asked, ...given });
  };
  for (const given of [
    { deposit_ids: dust.slice(1) },
    { deposit_ids: dust.toReversed() },
    { deposit_ids: dust.slice(0, 1) },
    { verb: 'approve' },
  ])
    expect(await decide(given)).toMatchObject({ status: 400, body: { code: 'not_an_operator' } });
  for (const deposit_ids of [[], undefined, Array.from({ length: 1_001 }, () => dust[0])])
    expect(await decide({ deposit_ids })).toMatchObject({ body: { code: 'invalid_request' } });
  expect((await server.ledger()).end).toBe(before);
  // those that were decided before take no part
  expect(await decide({ deposit_ids: [held[1], ...dust, ...dust] })).toMatchObject({
    status: 200,
    body: { appended: { offset: String(place.sequence) } },
  });
  const after = await server.ledger();
  expect(after.end).toBe(before + 1n);
  for (const id of dust) expect(after.deposit(id)).toMatchObject({ rejected: true });
});

test('a deposit is shown with the effect of each decision, and one that is decided without', async () => {
  const [approved] = server.held;
  const shown = await ask(url, `deposits/${approved}`, token);
  expect(shown).toMatchObject({ status: 200, body: { id: approved, effects: null } });
  expect(await ask(url, 'deposits/nothing', token)).toMatchObject({ status: 404 });
});

test('a service that stops shows as such, and the others are shown', async () => {
  server.stopService();
  await expect
    .poll(async () => (await ask(url, 'operations', token)).body)
    .toMatchObject({
      status: { is: { services: [{ name: 'treasury', status: 'unreachable' }] } },
      alerts: { is: null, problem: expect.stringContaining('Prometheus does not answer') },
      quarantine: { problem: null },
    });
});

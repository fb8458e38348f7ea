import { expect, test } from 'vitest';
import { waitForOutcome, type Outcome, type Waiting } from '../../../packages/wallet/src/index.ts';
import { openLocalServer, type Answer } from './local-server.ts';
import { ADDRESS, TRANSACTIONS } from './vectors.ts';

/** The explorer for one round of questions; undefined: it is not there. */
interface Round {
  readonly height: number;
  readonly final: number | null;
  /** block of the transaction */
  readonly block?: number;
  /** next nonce of the account; absent: it has none */
  readonly nonce?: number;
}

const NONCE = 5;
const HASH = TRANSACTIONS[0]?.hash ?? '';
const NOT_FOUND: Answer = { status: 404, body: '{"code":"not_found","message":"unknown"}' };

function answerOf(path: string, { height, final, block, nonce }: Round): Answer | undefined {
  switch (path) {
    case '/api/v1/status':
      return { body: JSON.stringify({ indexed: { height, finalized_height: final } }) };
    case `/api/v1/accounts/${ADDRESS}`:
      return nonce === undefined ? NOT_FOUND : { body: JSON.stringify({ nonce }) };
    case `/api/v1/transactions/${HASH}`:
      return block === undefined ? NOT_FOUND : { body: JSON.stringify({ block_height: block }) };
    default:
      throw new Error(path);
  }
}

function pathOf(address: string): string {
  return new URL(address, 'http://explorer').pathname;
}

/** The outcome, and how many rounds of questions it took. */
async function outcome(
  rounds: readonly (Round | Answer | undefined)[],
  waiting: Waiting = {},
): Promise<readonly [Outcome, number]> {
  let at = -1;
  // a CDN keeps all that is found but the status
  const kept = new Map<string, Answer | undefined>();
  await using explorer = await openLocalServer(({ path: address }) => {
    const path = pathOf(address);
    if (path === '/api/v1/status') at++;
    const round = rounds[at];
    if (at >= rounds.length) throw new Error('there are no more rounds');
    if (kept.has(address)) return kept.get(address);
    const answer = round === undefined || 'body' in round ? round : answerOf(path, round);
    if (path !== '/api/v1/status' && answer?.status === undefined) kept.set(address, answer);
    return answer;
  });
  const transaction = { hash: HASH, from: ADDRESS, nonce: NONCE };
  const result = await waitForOutcome(explorer.url, transaction, { pollMs: 1, ...waiting });
  return [result, at + 1];
}

const BEFORE: Round = { height: 10, final: 4, nonce: NONCE };
const INCLUDED: Round = { height: 11, final: 5, block: 11, nonce: NONCE + 1 };
const REPLACED: Round = { height: 11, final: 5, nonce: NONCE + 1 };

test('a transaction is included once a block holds it', async () => {
  expect(await outcome([BEFORE, BEFORE, INCLUDED])).toEqual([
    { outcome: 'included', blockHeight: 11 },
    3,
  ]);
});

test('an account without transactions waits for its first', async () => {
  const rounds: Round[] = [
    { height: 0, final: null },
    { height: 1, final: null, block: 1 },
  ];
  expect(await outcome(rounds)).toEqual([{ outcome: 'included', blockHeight: 1 }, 2]);
});

test('a transaction is final when its block is, also when the block was replaced before', async () => {
  const rounds = [
    INCLUDED,
    BEFORE,
    { ...INCLUDED, block: 12, final: 11 },
    { ...INCLUDED, block: 12, final: 12 },
  ];
  expect(await outcome(rounds, { until: 'final' })).toEqual([
    { outcome: 'final', blockHeight: 12 },
    4,
  ]);
});

test('a transaction is replaced once another one has finally used its nonce', async () => {
  const seen = [REPLACED, { ...REPLACED, final: 11 }, { ...REPLACED, height: 13, final: 12 }];
  // the height of the second round is the first that surely includes the other transaction
  expect(await outcome(seen)).toEqual([{ outcome: 'replaced' }, 2]);
  const late = [REPLACED, { ...REPLACED, height: 12, final: 11 }, { ...REPLACED, final: 12 }];
  expect(await outcome(late)).toEqual([{ outcome: 'replaced' }, 3]);
});

test('a nonce that a reverted block had used is free again', async () => {
  const rounds = [
    REPLACED,
    { ...REPLACED, height: 12 },
    BEFORE,
    { ...REPLACED, final: 20 },
    INCLUDED,
  ];
  expect(await outcome(rounds)).toEqual([{ outcome: 'included', blockHeight: 11 }, 5]);
});

test('an answer that a CDN has kept decides nothing', async () => {
  const free = { height: 30, final: 20, nonce: NONCE };
  // the block of the transaction, or of the other one, is replaced by blocks that soon are final
  expect(
    await outcome([INCLUDED, free, { ...INCLUDED, final: 11 }], {
      until: 'final',
    }),
  ).toEqual([{ outcome: 'final', blockHeight: 11 }, 3]);
  expect(await outcome([REPLACED, free, { ...free, final: 30 }, INCLUDED])).toEqual([
    { outcome: 'included', blockHeight: 11 },
    4,
  ]);
});

test('an explorer that gives no useful answer is asked again', async () => {
  const rounds: readonly (Round | Answer | undefined)[] = [
    undefined,
    { status: 503, body: '{"code":"storage_error","message":"later"}' },
    { status: 429, body: '{"code":"rate_limited","message":"later"}' },
    { status: 404, type: 'text/html', body: '<h1>no such host</h1>' },
    { body: '<h1>welcome</h1>' },
    INCLUDED,
  ];
  expect(await outcome(rounds)).toEqual([{ outcome: 'included', blockHeight: 11 }, 6]);
});

test('waiting ends with the reason of the signal', async () => {
  const stop = new AbortController();
  await using explorer = await openLocalServer(({ path }) => {
    if (path.startsWith('/api/v1/transactions/')) setImmediate(() => stop.abort('enough'));
    return answerOf(pathOf(path), BEFORE);
  });
  const waiting = waitForOutcome(
    explorer.url,
    { hash: HASH, from: ADDRESS, nonce: NONCE },
    { signal: stop.signal, pollMs: 3_600_000 },
  );
  await expect(waiting).rejects.toBe('enough');
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Hub } from '../../../../services/hub-gateway/graphql/context.ts';
import { sendTransaction } from '../../../../services/hub-gateway/graphql/submission.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';

const HASH = `0x${'11'.repeat(32)}`;
const SUBMISSION = {
  raw: '0xc0',
  hash: Buffer.alloc(32, 0x11),
  sender: Buffer.alloc(20, 0x22),
  nonce: 5,
};
const TOO_LOW = { code: 'nonce_too_low', message: 'the next nonce is 6' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Row = readonly (string | null)[];

/** The answer to one sending; the read model shows one of `rows` after the other, then the last. */
async function sent(
  code: string | undefined,
  rows: readonly (Row | undefined)[],
  head = 656,
): Promise<{ readonly answer: unknown; readonly reads: number }> {
  let reads = 0;
  const hub: Pick<Hub, 'node' | 'reader'> = {
    node: {
      submit: () => Promise.resolve({ code, json: { ...TOO_LOW, code } }),
      head: () => Promise.resolve({ height: head, finalized_height: null }),
      nextNonce: () => Promise.resolve(6),
    },
    reader: {
      rows: () => {
        const row = rows[Math.min(reads++, rows.length - 1)];
        return Promise.resolve(row === undefined ? [] : [row]);
      },
    },
  };
  const sending = sendTransaction(hub, SUBMISSION).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return { answer: await sending, reads };
}

test.each(['accepted', 'already_known'])('%s is passed on as the node says it', async (code) => {
  expect(await sent(code, [])).toEqual({ answer: { ...TOO_LOW, code }, reads: 0 });
});

test.each(['nonce_too_low', 'insufficient_balance', 'offer_not_open', undefined])(
  'a transaction that a block holds is already in it, whatever the node refuses: %s',
  async (code) => {
    expect((await sent(code, [['700', '656', '6']])).answer).toEqual({
      code: 'already_in_block',
      message: expect.stringContaining('656'),
      transaction_hash: HASH,
      block_height: 656,
    });
  },
);

test('a refusal is passed on once the read model has all blocks of the node, none with it', async () => {
  const behind = await sent('offer_not_open', [undefined, ['654', null, '5'], ['656', null, '5']]);
  expect(behind).toEqual({ answer: { ...TOO_LOW, code: 'offer_not_open' }, reads: 3 });
});

test('nonce_too_low is passed on once a block of the read model has used the nonce', async () => {
  expect(await sent('nonce_too_low', [['656', null, '6']])).toEqual({ answer: TOO_LOW, reads: 1 });
  // the height was asked of a node that is behind: block 656 has the transaction
  const lagging = [
    ['655', null, '5'],
    ['656', '656', '6'],
  ] as const;
  expect((await sent('nonce_too_low', lagging, 655)).answer).toMatchObject({
    code: 'already_in_block',
  });
});

test('a block that the read model gets while the wallet waits is found', async () => {
  const { answer, reads } = await sent('nonce_too_low', [
    ['655', null, '5'],
    ['656', '656', '6'],
  ]);
  expect(answer).toMatchObject({ code: 'already_in_block', block_height: 656 });
  expect(reads).toBe(2);
});

test.each<[string, Row]>([
  ['a read model that stands still', ['655', null, '5']],
  ['another transaction that waits for a block with the nonce', ['656', null, '5']],
  ['an account without transactions', ['656', null, null]],
])('behind %s nothing is known, and no refusal is passed on', async (_name, row) => {
  expect((await sent('nonce_too_low', [row])).answer).toMatchObject({
    message: expect.stringContaining('send the same bytes again'),
    extensions: { code: 'UPSTREAM_ERROR' },
  });
});

test('a node or a read model that does not answer is a fault', async () => {
  const fault = new Fault('chain_node', 'away', { retry: true });
  const node = {
    submit: () => Promise.resolve({ code: 'nonce_too_low', json: TOO_LOW }),
    head: () => Promise.reject(fault),
    nextNonce: () => Promise.resolve(6),
  };
  const reader = { rows: () => Promise.resolve([['656', null, '6']]) };
  await expect(sendTransaction({ node, reader }, SUBMISSION)).rejects.toBe(fault);
});

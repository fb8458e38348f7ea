import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { transactionHash } from '../../../../schemas/raw-transaction.ts';
import type { Hub } from '../../../../services/hub-gateway/graphql/context.ts';
import { sendTransaction } from '../../../../services/hub-gateway/graphql/submission.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';

const RAW = '0xc0';
const HASH = transactionHash(Buffer.from('c0', 'hex'));
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
  const sending = sendTransaction(hub, RAW).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return { answer: await sending, reads };
}

test.each(['accepted', 'already_known'])('%s is passed on as the node says it', async (code) => {
  expect(await sent(code, [])).toEqual({ answer: { ...TOO_LOW, code }, reads: 0 });
});

test.each(['nonce_too_low', 'insufficient_balance', 'offer_not_open', undefined])(
  'a transaction that a block holds is already in it, whatever the node refuses: %s',
  async (code) => {
    expect((await sent(code, [['700', '656']])).answer).toEqual({
      code: 'already_in_block',
      message: expect.stringContaining('656'),
      transaction_hash: HASH,
      block_height: 656,
    });
  },
);

test('a refusal is passed on once the read model has all blocks of the node, none with it', async () => {
  expect(await sent('nonce_too_low', [['656', null]])).toEqual({ answer: TOO_LOW, reads: 1 });
  const behind = await sent('nonce_too_low', [undefined, ['654', null], ['656', null]]);
  expect(behind).toEqual({ answer: TOO_LOW, reads: 3 });
});

test('a block that the read model gets while the wallet waits is found', async () => {
  const { answer, reads } = await sent('nonce_too_low', [
    ['655', null],
    ['656', '656'],
  ]);
  expect(answer).toMatchObject({ code: 'already_in_block', block_height: 656 });
  expect(reads).toBe(2);
});

test('behind a read model that stands still nothing is known, and no refusal is passed on', async () => {
  expect((await sent('nonce_too_low', [['655', null]])).answer).toMatchObject({
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
  const reader = { rows: () => Promise.resolve([['656', null]]) };
  await expect(sendTransaction({ node, reader }, RAW)).rejects.toBe(fault);
});

import { expect, test } from 'vitest';
import { BrokenChain } from '../../../../schemas/hash-chain.ts';
import { RESERVE_RUNS, TREASURY_LEDGER } from '../../../../schemas/topics.ts';
import { ChainHeads, readHead } from '../../../../services/ops/audit/head.ts';
import { Misuse } from '../../../../services/ops/usage.ts';

interface Told {
  readonly sequence: number;
  readonly previous?: Buffer;
}

/** Records whose values are numbers; `sequence` is the offset where none is given. */
function told(heads: ChainHeads, topic: string, ...values: readonly (number | Told)[]): void {
  for (const [offset, given] of values.entries()) {
    const { sequence, previous = Buffer.alloc(0) } =
      typeof given === 'number' ? { sequence: offset } : given;
    const value = Buffer.from(String(typeof given === 'number' ? given : offset));
    const record = { offset: BigInt(offset), timestamp: 0, key: null, value, headers: {} };
    heads.record(topic, 0, { type: 'Told', sequence, previous }, record);
  }
}

function headOf(topic: string, ...values: readonly (number | Told)[]): string {
  const heads = new ChainHeads();
  told(heads, topic, ...values);
  return heads.heads[0]?.head ?? '';
}

test('a head that was noted is found at its record in a log that has grown', () => {
  const noted = headOf(TREASURY_LEDGER.name, 5, 6);
  const heads = new ChainHeads(readHead(noted));
  told(heads, TREASURY_LEDGER.name, 5, 6, 7, 8);
  expect(heads.found).toEqual({ topic: TREASURY_LEDGER.name, partition: 0, offset: 1n });
  expect(heads.heads).toMatchObject([{ offset: 3n }]);
});

test.each([
  ['changed', [5, 9, 7, 8]],
  ['moved', [6, 5, 7, 8]],
  ['removed', [6, 7, 8]],
  ['cut off', [5]],
])('a head is not found in a log whose records were %s', (_, values) => {
  const heads = new ChainHeads(readHead(headOf(TREASURY_LEDGER.name, 5, 6)));
  told(heads, TREASURY_LEDGER.name, ...values);
  expect(heads.found).toBe(null);
});

test('a record of the ledger at another offset than its sequence is no part of the chain, a reserve run is', () => {
  const lost = { sequence: 7 };
  expect(headOf(TREASURY_LEDGER.name, 5, lost, 6)).toBe(
    headOf(TREASURY_LEDGER.name, 5, { sequence: 8 }, 6),
  );
  expect(headOf(RESERVE_RUNS.name, 5, lost)).not.toBe(headOf(RESERVE_RUNS.name, 5));
});

test('a record that names another head breaks the chain', () => {
  const previous = Buffer.alloc(32, 1);
  expect(() => headOf(TREASURY_LEDGER.name, 5, { sequence: 1, previous })).toThrow(BrokenChain);
});

test('events of topics without a chain have no head, and without a wanted head none is missed', () => {
  const heads = new ChainHeads();
  const record = { offset: 0n, timestamp: 0, key: null, value: Buffer.alloc(1), headers: {} };
  heads.record('chain.blocks', 0, { type: 'BlockAppended', sequence: 0 }, record);
  expect([heads.heads, heads.found]).toEqual([[], undefined]);
});

test.each(['', '0x', 'ab'.repeat(31), `${'ab'.repeat(31)}xy`, 'ab'.repeat(33)])(
  'a head that is no hash is refused: %j',
  (text) => {
    expect(() => readHead(text)).toThrow(Misuse);
  },
);

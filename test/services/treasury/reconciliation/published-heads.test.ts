import { expect, test } from 'vitest';
import { LogLost } from '../../../../services/runtime/kafka/position.ts';
import { PublishedHeads } from '../../../../services/treasury/reconciliation/published-heads.ts';

function headAt(end: number, of = 1): Buffer {
  return Buffer.alloc(32, end * 16 + of);
}

function run(ledger_offset: number, ledger_head?: Buffer) {
  const run_id = `run at ${ledger_offset}`;
  return ledger_head === undefined
    ? { run_id, ledger_offset }
    : { run_id, ledger_offset, ledger_head };
}

function folded(heads: PublishedHeads, from: number, to: number): void {
  for (let end = from; end <= to; end++) heads.folded({ end: BigInt(end), head: headAt(end) });
}

test('a ledger with the published heads is taken, whichever is read first', () => {
  const heads = new PublishedHeads('ledger');
  heads.published(run(3, headAt(3)));
  folded(heads, 1, 5);
  heads.published(run(5, headAt(5)));
  heads.published(run(5, headAt(5)));
  heads.published(run(9, headAt(9)));
  expect(heads.furthest).toBe(9n);
  folded(heads, 6, 9);
});

test('a ledger with another head is lost, whichever is read first', () => {
  const before = new PublishedHeads('ledger');
  before.published(run(3, headAt(3, 2)));
  expect(() => folded(before, 1, 5)).toThrow(LogLost);
  const after = new PublishedHeads('ledger');
  folded(after, 1, 5);
  expect(() => after.published(run(3, headAt(3, 2)))).toThrow(LogLost);
});

test('two runs with different heads of one offset are of different ledgers', () => {
  const heads = new PublishedHeads('ledger');
  heads.published(run(3, headAt(3)));
  expect(() => heads.published(run(3, headAt(3, 2)))).toThrow(LogLost);
});

test('a run of an older writer names no head', () => {
  const heads = new PublishedHeads('ledger');
  heads.published(run(3));
  heads.published(run(4, Buffer.alloc(0)));
  folded(heads, 1, 5);
  expect(heads.furthest).toBe(0n);
});

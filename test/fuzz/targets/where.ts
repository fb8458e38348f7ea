import assert from 'node:assert/strict';
import { Where } from '../../../services/ops/tail/where.ts';
import { Misuse } from '../../../services/ops/usage.ts';

export const about =
  '`--where` of `ops tail`: an expression, or `Misuse` with a caret below its place';

const RECORD = {
  topic: 'chain.blocks',
  offset: '12',
  key: null,
  headers: { source: 'chain-ingester', 'x.y': 'dotted' },
  value: {
    height: 7,
    amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
    to: '0xAB',
    fare: '-12.50',
    final: true,
    list: [{ from: '0xaa', fee: '10' }, [1, [2]], null],
    nested: {},
  },
};

export const seeds = [
  'height = 7 and not (amount >= 5000000.25 or fare < 0)',
  "value.list.from contains '0xa\\'a' or key = null",
  'headers.x.y == "dotted" and final != false',
  'not not ((to = 0xab))',
  'list.fee <= 9e9 or список > "я"',
];
export const words = [
  'and ',
  'or ',
  'not ',
  '(',
  ')',
  'contains ',
  'null',
  'height',
  'amount',
  'list',
  'nested',
  '9'.repeat(400),
  '.',
];

function read(text: string): Where | undefined {
  try {
    return new Where(text);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    assert.ok(error.message !== '');
    return undefined;
  }
}

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  const where = read(text);
  if (where === undefined) return;
  const isMatch = where.matches(RECORD);
  assert.equal(typeof isMatch, 'boolean');
  assert.equal(where.matches(RECORD), isMatch);
  assert.ok(where.missing.every((path) => text.includes(path)));
  // a negation is the contrary, unless it is too long or too deep
  const negated = read(`not (${text})`);
  if (negated !== undefined) assert.equal(negated.matches(RECORD), !isMatch);
}

import { expect, test } from 'vitest';
import { Where } from '../../../../services/ops/tail/where.ts';
import { Misuse } from '../../../../services/ops/usage.ts';

const RECORD = {
  topic: 'chain.blocks',
  partition: 0,
  offset: '12',
  time: '2026-11-21T12:00:00.000Z',
  key: '7',
  type: 'BlockAppended',
  headers: { source: 'chain-ingester', 'x.y': 'dotted' },
  value: {
    height: 7,
    amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
    to: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    reason: "over the 'cap'",
    fare: '12.50',
    nothing: null,
    final: true,
    type: 'of the value',
    transactions: [
      { from: '0xaa', fee: '10' },
      { from: '0xbb', fee: '2000000000000000000001' },
    ],
  },
};

const MATCHING: readonly (readonly [string, boolean])[] = [
  ['height = 7', true],
  ['height == 7 and height != 8', true],
  ['value.height >= 7 and height <= 7 and not height < 7', true],
  ['offset > 9', true],
  ['offset > "9"', false],
  ['amount = 115792089237316195423570985008687907853269984665640564039457584007913129639935', true],
  ['amount > 115792089237316195423570985008687907853269984665640564039457584007913129639934', true],
  [
    'amount > 115792089237316195423570985008687907853269984665640564039457584007913129639935',
    false,
  ],
  ['fare = 12.5', true],
  ['fare > 12.499999999999999999999', true],
  ['fare = "12.5"', false],
  ['to = 0x7E5F4552091A69125D5DFCB7B8C2659029395BDF', true],
  ['transactions.from = 0xbb', true],
  ['transactions.from = 0xcc', false],
  ['transactions.fee > 2000000000000000000000', true],
  ['not transactions.fee < 5', true],
  ['type = BlockAppended', true],
  ['value.type = "of the value"', true],
  ['headers.source = chain-ingester AND headers.x.y = dotted', true],
  ["reason contains 'CAP'", true],
  ["reason = 'over the \\'cap\\''", true],
  ['time >= 2026-11-21T12:00:00.000Z and time < 2026-11-22', true],
  ['nothing = null and absent = null', true],
  ['nothing != null or absent != null', false],
  ['absent != 5', true],
  ['absent > 5 or absent < 5 or absent = 5', false],
  ['final = true', true],
  ['final != true', false],
  ['reason > 5', false],
  ['reason != 5', true],
  ['height = seven', false],
  // and binds more than or
  ['height = 7 or height = 8 and height = 9', true],
  ['(height = 7 or height = 8) and height = 9', false],
  ['not not height = 7', true],
  ['height=7', true],
  ['amount>=1', true],
];

test.each(MATCHING)('%s is %s of the example', (expression, matches) => {
  expect(new Where(expression).matches(RECORD)).toBe(matches);
});

const WRONG: readonly (readonly [string, RegExp, number])[] = [
  ['', /here the name of a field is expected/, 0],
  ['height', /after height one of = == != < <= > >= contains is expected/, 6],
  ['height = ', /here a value is expected/, 9],
  ['height = 7 8', /here `and`, `or` or the end is expected/, 11],
  ['(height = 7', /this parenthesis is never closed/, 0],
  ['height = 7)', /here `and`, `or` or the end is expected/, 10],
  ["reason = 'open", /this quote is never closed/, 9],
  ['height = 7; drop', /this belongs to nothing/, 10],
  ['height like 7', /after height one of/, 7],
  ['height constructor 7', /after height one of/, 7],
  ['5 = height', /here the name of a field is expected/, 0],
  ['height = 7 and', /here the name of a field is expected/, 14],
  [`${'('.repeat(101)}height = 7`, /more than 100 parentheses/, 100],
];

test.each(WRONG)(
  '%s is refused with the column and what is expected',
  (expression, problem, at) => {
    const parse = (): unknown => new Where(expression);
    expect(parse).toThrow(Misuse);
    expect(parse).toThrow(problem);
    expect(parse).toThrow(`\n  ${' '.repeat(at)}^`);
  },
);

test('names that every object inherits are ordinary, missing fields', () => {
  expect(
    new Where('constructor = null and value.__proto__ = null and toString = null').matches(RECORD),
  ).toBe(true);
});

test('a field that no record has is reported, one that some have is not', () => {
  const where = new Where('heigth = 7 or height = 8 or headers.source = x');
  expect([...where.missing]).toEqual([]);
  where.matches(RECORD);
  expect([...where.missing]).toEqual(['heigth']);
});

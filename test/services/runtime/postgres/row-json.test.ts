import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { nullable, record, word } from '../../../../schemas/http-api/answer.ts';
import { rowWriter } from '../../../../services/runtime/postgres/row-json.ts';

const BIG = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
const HASH = Type.String({ pattern: '^0x[0-9a-f]{64}$' });
const TIME = Type.String({ format: 'date-time' });
const COUNT = Type.Integer();

const written = rowWriter(
  record('Row', {
    hash: HASH,
    amount: Type.Unsafe<string>({ oneOf: [{ type: 'integer' }, { type: 'string' }] }),
    kind: Type.Literal('a `$`{}" kind'),
    type: Type.Unsafe<string>({ anyOf: [{ type: 'string' }, { type: 'string' }] }),
    is_final: Type.Boolean(),
    at: TIME,
    direction: word(['in', 'out']),
    parent: nullable(HASH, null),
    index: nullable(COUNT, null),
    seen_at: nullable(TIME, null),
    name: nullable(Type.String(), null),
  }),
);
const AT = '2026-11-21 07:28:00.12+00';

test('a row has its fields in their order, a constant without a column, integers with every digit', () => {
  const cells = ['\\x01', BIG, 'RidePay', 't', AT, 'in', '\\x0c', '7', AT, 'x', 'no field'];
  expect(written(cells)).toBe(
    `{"hash":"0x01","amount":${BIG},"kind":"a \`$\`{}\\" kind","type":"RidePay","is_final":true,` +
      '"at":"2026-11-21T07:28:00.120Z","direction":"in","parent":"0x0c","index":7,' +
      '"seen_at":"2026-11-21T07:28:00.120Z","name":"x"}',
  );
});

test('an empty column is null, and a text is escaped as JSON', () => {
  const type = 'a"b\\c\nd${x}`';
  const text = written(['\\x01', '-5', type, 'f', AT, 'out', null, null, null, null]);
  expect(JSON.parse(text)).toMatchObject({
    amount: -5,
    type,
    is_final: false,
    parent: null,
    index: null,
    seen_at: null,
    name: null,
  });
});

test('a field may be made without a column, or show its column in its own way', () => {
  const toJson = rowWriter<{ a: typeof COUNT; b: typeof COUNT; c: typeof COUNT }, string>(
    record('Row', { a: COUNT, b: COUNT, c: COUNT }),
    {
      made: { a: (cells, subject) => `"${subject} of ${cells.length}"` },
      shown: { c: (cell, cells) => `${cell}${cells[0]}` },
    },
  );
  expect(toJson(['1', '2'], 'one')).toBe('{"a":"one of 2","b":1,"c":21}');
});

test('a schema that no column fits is refused when the writer is made', () => {
  expect(() => rowWriter(record('Row', { a: Type.Array(COUNT) }))).toThrow('no column is written');
});

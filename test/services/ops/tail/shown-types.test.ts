import { readdirSync, readFileSync } from 'node:fs';
import avro from 'avsc';
import { assert, bigInt, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { parseTronAddress, toTronAddress } from '../../../../schemas/tron-address.ts';
import { SHOWN_OPTIONS } from '../../../../services/ops/tail/shown-types.ts';
import { encodeDecimal } from '../../../../schemas/money.ts';

const GOLDEN = new URL('../../../schemas/golden/', import.meta.url);
const TIMES = /(?:_at|timestamp|until)$/;

const SAMPLES = readdirSync(GOLDEN, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name: topic }) =>
    readdirSync(new URL(`${topic}/`, GOLDEN)).map((version) => `${topic}/${version}/`),
  )
  .flatMap((folder) =>
    readdirSync(new URL(folder, GOLDEN))
      .filter((file) => file.endsWith('.hex'))
      .map((file) => `${folder}${file.slice(0, -4)}`),
  );

function read(path: string): string {
  return readFileSync(new URL(path, GOLDEN), 'utf8');
}

/** The JSON of a body that was written with this schema. */
function shownJson(schema: avro.Schema, body: Buffer): string {
  return JSON.stringify(avro.Type.forSchema(schema, { ...SHOWN_OPTIONS }).fromBuffer(body));
}

function isTronAddress(path: string, name: string): boolean {
  return path.startsWith('tron.transfers')
    ? ['address', 'from', 'to', 'contract'].includes(name)
    : name === 'usdt_contract' ||
        (name === 'deposit_address' && !path.startsWith('deposit.addresses'));
}

function base58(hex: string): string {
  return toTronAddress(Buffer.from(hex.slice(2), 'hex'));
}

test.each(SAMPLES)('the golden event %s is shown with its meaning', (path) => {
  const schema: avro.Schema = JSON.parse(read(path.replace(/-[^/]*$/, '.avsc')));
  const body = Buffer.from(read(`${path}.hex`).replaceAll('\n', ''), 'hex');
  const shown: unknown = JSON.parse(shownJson(schema, body));
  const said: unknown = JSON.parse(read(`${path}.json`), (name, value: unknown) => {
    if (name === 'type') return undefined;
    if (typeof value === 'number' && TIMES.test(name))
      return value > 8.64e15 ? value : new Date(value).toISOString();
    if (name === 'custody_addresses' && Array.isArray(value)) return value.map(String).map(base58);
    return typeof value === 'string' && isTronAddress(path, name) ? base58(value) : value;
  });
  // a field that the sample leaves out has its default
  expect(shown).toMatchObject(Object(said));
});

/** As avsc writes it. */
function shownBy(schema: avro.Schema, value: unknown): string {
  return shownJson(schema, avro.Type.forSchema(schema).toBuffer(value));
}

test('every kind of schema is shown, also kinds that no event uses', () => {
  expect(shownBy({ type: 'enum', name: 'Suit', symbols: ['HEARTS', 'SPADES'] }, 'SPADES')).toBe(
    '"SPADES"',
  );
  expect(shownBy({ type: 'map', values: 'long' }, { 'a"b': 1, c: -2 })).toBe('{"a\\"b":1,"c":-2}');
  expect(shownBy({ type: 'array', items: ['null', 'string'] }, [null, 'x\n'])).toBe(
    '[null,"x\\n"]',
  );
  expect(shownBy('double', 0.1)).toBe('0.1');
  expect(shownBy('float', 0.5)).toBe('0.5');
  expect(shownBy('boolean', true)).toBe('true');
  expect(shownBy('bytes', Buffer.from([0, 255]))).toBe('"0x00ff"');
  const tree: avro.Schema = {
    type: 'record',
    name: 'a.Tree',
    fields: [{ name: 'left', type: ['null', 'Tree'] }],
  };
  expect(shownBy(tree, { left: { left: { left: null } } })).toBe('{"left":{"left":{"left":null}}}');
});

test('amounts and long integers of any size keep every digit', () => {
  const decimal: avro.Schema = { type: 'bytes', logicalType: 'decimal', precision: 78, scale: 0 };
  assert(
    property(bigInt({ min: -(1n << 255n), max: 1n << 256n }), (value) => {
      const bytes = encodeDecimal(value);
      expect(shownJson(decimal, Buffer.concat([Buffer.from([bytes.length * 2]), bytes]))).toBe(
        `"${value}"`,
      );
    }),
  );
  // by hand: avsc itself loses digits beyond 2^52
  const border = 1n << 52n;
  assert(
    property(bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), (value) => {
      const bytes: number[] = [];
      let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
      for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
      expect(shownJson('long', Buffer.from([...bytes, Number(rest)]))).toBe(String(value));
    }),
    { examples: [-1n, 0n, 1n].flatMap((by) => [[border + by], [by - border]]) },
  );
  expect(shownJson('long', Buffer.from('ffffffffffffffffff01', 'hex'))).toBe(
    '-9223372036854775808',
  );
  expect(shownJson('long', Buffer.from('feffffffffffffffff01', 'hex'))).toBe('9223372036854775807');
});

test("TRON's addresses are base58check, and read back as the same bytes", () => {
  const schema: avro.Schema = { type: 'fixed', name: 'clt.tron.TronAddress', size: 20 };
  assert(
    property(uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const text: unknown = JSON.parse(shownJson(schema, Buffer.from(bytes)));
      expect(parseTronAddress(String(text))).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 30 },
  );
});

test('bytes that do not fit the schema are refused', () => {
  const record: avro.Schema = {
    type: 'record',
    name: 'R',
    fields: [
      { name: 'hash', type: { type: 'fixed', name: 'H', size: 4 } },
      { name: 'note', type: 'string' },
    ],
  };
  const show = (hex: string): string => shownJson(record, Buffer.from(hex, 'hex'));
  expect(show('010203040261')).toBe('{"hash":"0x01020304","note":"a"}');
  for (const hex of ['010203', '0102030404', '01020304026100', `01020304${'ff'.repeat(11)}`])
    expect(() => show(hex)).toThrow();
  expect(() => shownJson(['null', 'string'], Buffer.from('04', 'hex'))).toThrow();
});

test('a list or map that claims 2^40 items is refused at the end of the bytes', () => {
  const count = Buffer.from('808080808080020101', 'hex');
  for (const items of ['string', 'int', 'boolean', 'double', 'long', 'bytes'])
    for (const schema of [
      { type: 'array', items },
      { type: 'map', values: items },
    ] satisfies avro.Schema[])
      expect(() => shownJson(schema, count)).toThrow();
});

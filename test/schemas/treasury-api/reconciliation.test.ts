import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  parseReconciliation,
  reconciliationJson,
  RUN_STATUSES,
  type ReconciliationRun,
} from '../../../schemas/treasury-api/reconciliation.ts';

const RUN: ReconciliationRun = {
  run_at: '2026-11-21T07:25:00.000Z',
  onchain_supply: 2n ** 256n - 1n,
  genesis_allocation: 9_007_199_254_740_993n,
  treasury_minted: 0n,
  ledger_liability: -9_007_199_254_740_993n,
  custody_reported: 25n,
  status: 'ok',
};
const TEXT =
  '{"last_run":{"run_at":"2026-11-21T07:25:00.000Z","onchain_supply":115792089237316195423570985008687907853269984665640564039457584007913129639935,' +
  '"genesis_allocation":9007199254740993,"treasury_minted":0,"ledger_liability":-9007199254740993,"custody_reported":25,"status":"ok"}}';

/** The text with one field's value replaced. */
function withField(name: string, value: string): string {
  return TEXT.replace(new RegExp(`("${name}":)("[^"]*"|-?[0-9]+)`), `$1${value}`);
}

test('a run round-trips with exact integers', () => {
  expect(reconciliationJson({ last_run: RUN })).toBe(TEXT);
  expect(parseReconciliation(TEXT)).toEqual({ value: { last_run: RUN } });
  const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
  const run = fc.record({
    run_at: fc
      .date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
      .map((date) => date.toISOString()),
    onchain_supply: amount,
    genesis_allocation: amount,
    treasury_minted: amount,
    ledger_liability: fc.bigInt({ min: 1n - 2n ** 256n, max: 2n ** 256n - 1n }),
    custody_reported: amount,
    status: fc.constantFrom(...RUN_STATUSES),
  });
  fc.assert(
    fc.property(run, (each) => {
      expect(parseReconciliation(reconciliationJson({ last_run: each }))).toEqual({
        value: { last_run: each },
      });
    }),
  );
});

test('no run yet is null', () => {
  expect(reconciliationJson({ last_run: null })).toBe('{"last_run":null}');
  expect(parseReconciliation(' {"last_run" : null, "since": 5} ')).toEqual({
    value: { last_run: null },
  });
});

test('amounts may be decimal text, and unknown fields are ignored', () => {
  const texts = TEXT.replaceAll(/":(-?[0-9]+)/g, '":"$1"').replace(
    '{"run_at"',
    '{"note":{"a":[1.5e400]},"__proto__":{"status":"x"},"run_at"',
  );
  expect(parseReconciliation(texts)).toEqual({ value: { last_run: RUN } });
});

test.each([...RUN_STATUSES])('the status %s is accepted', (status) => {
  expect(parseReconciliation(withField('status', `"${status}"`))).toEqual({
    value: { last_run: { ...RUN, status } },
  });
});

test.each(['2026-11-21T07:25:00Z', '2026-11-21T07:25:00+00:00', '2024-02-29T23:59:59.123456789Z'])(
  'the time %s is accepted unchanged',
  (run_at) => {
    expect(parseReconciliation(withField('run_at', `"${run_at}"`))).toEqual({
      value: { last_run: { ...RUN, run_at } },
    });
  },
);

describe('a problem names the field and repeats no value', () => {
  const amounts = [
    'onchain_supply',
    'genesis_allocation',
    'treasury_minted',
    'custody_reported',
  ] as const;
  const bad = [
    'NaN',
    '1.5',
    '1.0',
    '1e3',
    '-1',
    '-0',
    '"-1"',
    '""',
    '"1.0"',
    '"0x10"',
    '"007"',
    '" 1"',
    '"1_000"',
    'null',
    'true',
    '[]',
    '[1]',
    '{}',
    '1e999',
    String(2n ** 256n),
  ];

  test.each(amounts.flatMap((name) => bad.map((value) => [name, value] as const)))(
    '%s: %s',
    (name, value) => {
      const expected =
        value === 'NaN'
          ? 'expected JSON'
          : `last_run.${name}: expected an integer from 0 to 2^256 - 1`;
      expect(parseReconciliation(withField(name, value))).toEqual({ problem: expected });
    },
  );

  test.each(['-0', '1.5', '"-0"', '"--1"', '"+1"', 'null', `-${2n ** 256n}`, String(2n ** 256n)])(
    'ledger_liability: %s',
    (value) => {
      expect(parseReconciliation(withField('ledger_liability', value))).toEqual({
        problem: 'last_run.ledger_liability: expected an integer between -2^256 and 2^256',
      });
    },
  );

  test.each(['"OK"', '"fine"', '""', '0', 'null', '{}'])('status: %s', (value) => {
    expect(parseReconciliation(withField('status', value))).toEqual({
      problem: 'last_run.status: expected one of ok, mismatch, over_backed_drift',
    });
  });

  test.each([
    '"yesterday"',
    '"2026-11-21"',
    '"2026-11-21T07:25:00"',
    '"2026-11-21T07:25:00+02:00"',
    '"2026-02-30T00:00:00Z"',
    '"2026-13-01T00:00:00Z"',
    '"2026-11-21T24:00:00Z"',
    '1790000000000',
    'null',
  ])('run_at: %s', (value) => {
    expect(parseReconciliation(withField('run_at', value))).toEqual({
      problem: 'last_run.run_at: expected a time in ISO 8601, UTC',
    });
  });

  test('a field that is missing', () => {
    for (const name of Object.keys(RUN)) {
      const without = TEXT.replace(new RegExp(`"${name}":("[^"]*"|-?[0-9]+),?`), '').replace(
        ',}',
        '}',
      );
      expect(parseReconciliation(without)).toEqual({ problem: `last_run.${name}: it is missing` });
    }
    expect(parseReconciliation('{}')).toEqual({ problem: 'last_run: it is missing' });
    expect(parseReconciliation('{"__proto__":{"last_run":null}}')).toEqual({
      problem: 'last_run: it is missing',
    });
  });

  test('another shape', () => {
    const anObject = { problem: 'last_run: expected an object that has it' };
    for (const text of ['null', '5', '"x"', '[]', '[null]', 'true'])
      expect(parseReconciliation(text)).toEqual(anObject);
    for (const text of ['"x"', '5', '[]', 'false']) {
      expect(parseReconciliation(`{"last_run":${text}}`)).toEqual({
        problem: 'last_run.run_at: expected an object that has it',
      });
    }
  });

  test('no JSON, truncated JSON, or JSON nested too deep', () => {
    const deep = '['.repeat(32_000) + ']'.repeat(32_000);
    for (const text of [
      '',
      '<html></html>',
      TEXT.slice(0, -1),
      `${TEXT}x`,
      '{"last_run":NaN}',
      `\u{feff}${TEXT}`,
      '['.repeat(60_000),
      `{"last_run":${deep}}`,
    ]) {
      expect(parseReconciliation(text)).toEqual({ problem: 'expected JSON' });
    }
  });
});

import { assert, option, property, record as recordOf, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import {
  bytesOf,
  digestNext,
  DIGEST_OF_NOTHING,
  fingerprint,
  type LogRecord,
} from '../../../../services/runtime/kafka/record.ts';

const RECORD: LogRecord = {
  offset: 7n,
  timestamp: 1_700_000_000_000,
  key: Buffer.from('ab'),
  value: Buffer.from('cd'),
  headers: { event_id: Buffer.from('1'), several: [Buffer.from('x'), Buffer.from('y')] },
};

test('every part of a record changes its fingerprint', () => {
  const others: LogRecord[] = [
    { ...RECORD, offset: 8n },
    { ...RECORD, timestamp: 1_700_000_000_001 },
    { ...RECORD, key: null },
    { ...RECORD, key: Buffer.alloc(0) },
    { ...RECORD, key: Buffer.from('a'), value: Buffer.from('bcd') },
    { ...RECORD, value: null },
    { ...RECORD, value: Buffer.alloc(0) },
    { ...RECORD, headers: {} },
    {
      ...RECORD,
      headers: { event_id: Buffer.from('2'), several: [Buffer.from('x'), Buffer.from('y')] },
    },
    { ...RECORD, headers: { event_id: Buffer.from('1'), several: [Buffer.from('xy')] } },
    { ...RECORD, headers: { ...RECORD.headers, more: undefined } },
  ];
  const fingerprints = [RECORD, ...others].map((record) => fingerprint(record).toString('hex'));
  expect(new Set(fingerprints).size).toBe(fingerprints.length);
  expect(fingerprint({ ...RECORD, value: Buffer.from('cd') })).toEqual(fingerprint(RECORD));
});

function text({ key, value, headers }: LogRecord): string {
  return JSON.stringify([key, value, headers]);
}

function read({
  key,
  value,
  header,
}: Readonly<Record<'key' | 'value' | 'header', Buffer | null>>): LogRecord {
  return { ...RECORD, key, value, headers: header === null ? {} : { h: header } };
}

test('two records with different parts never have the same fingerprint', () => {
  const part = option(uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)));
  const record = recordOf({ key: part, value: part, header: part });
  const same = property(record, record, (one, other) => {
    expect(fingerprint(read(one)).equals(fingerprint(read(other)))).toBe(
      text(read(one)) === text(read(other)),
    );
  });
  assert(same);
});

function digest(...records: readonly Buffer[]): string {
  return records.reduce(digestNext, DIGEST_OF_NOTHING).toString('hex');
}

test('the running digest depends on every record and on their order', () => {
  const [a, b] = [fingerprint(RECORD), fingerprint({ ...RECORD, offset: 8n })];
  expect(
    new Set([digest(), digest(a), digest(b), digest(a, b), digest(b, a), digest(a, a)]).size,
  ).toBe(6);
});

test('the size of a record counts at least its bytes', () => {
  expect(bytesOf({ ...RECORD, value: Buffer.alloc(1_000) })).toBeGreaterThanOrEqual(1_002);
  expect(bytesOf({ ...RECORD, key: null, value: null })).toBeGreaterThan(0);
});

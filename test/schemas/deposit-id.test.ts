import { expect, test } from 'vitest';
import { depositIdOf, invoiceIdOf, parseDepositId } from '../../schemas/deposit-id.ts';
import { Random } from '../support/random.ts';

const ZERO = Buffer.alloc(32);

// computed separately: 16 bytes of SHA-256(transaction id, log index), version 8, variant 10
test.each([
  [ZERO, 0, '6db65fd5-9fd3-86f6-b291-40571b5bcd6b'],
  [ZERO, 1, '2158a890-6d5e-8c2b-a001-bac943ab9cab'],
  [Buffer.alloc(32, 0xff), 2 ** 32 - 1, 'c38236f1-e6d5-8a2e-8616-b0c8a115bf8b'],
])('a transfer has one id, for ever', (txId, logIndex, id) => {
  expect(depositIdOf(txId, logIndex)).toBe(id);
});

test('a forged log index below zero makes an id that no transfer has, and throws nothing', () => {
  const ids = [-1, -(2 ** 31), 0, 1, 2 ** 31 - 1].map((index) => depositIdOf(ZERO, index));
  expect(new Set(ids).size).toBe(ids.length);
});

test('an invoice id follows from its deposit address', () => {
  expect(invoiceIdOf(Buffer.alloc(20))).toBe('de47c9b2-7eb8-8300-9bb5-f2c353e632c3');
});

test('each log of a transaction has its own deposit id, and ids parse as themselves', () => {
  const random = new Random(5);
  const ids = new Set<string>();
  for (let time = 0; time < 1_000; time++) {
    const txId = random.bytes(32);
    for (const index of [0, 1, 255, 256]) {
      const id = depositIdOf(txId, index);
      expect(parseDepositId(id)).toBe(id);
      expect(parseDepositId(id.toUpperCase())).toBe(id);
      ids.add(id);
    }
  }
  expect(ids.size).toBe(4_000);
});

test.each([
  '',
  '6db65fd5-9fd3-46f6-b291-40571b5bcd6b',
  '6db65fd5-9fd3-86f6-c291-40571b5bcd6b',
  '6db65fd59fd386f6b29140571b5bcd6b',
  '{6db65fd5-9fd3-86f6-b291-40571b5bcd6b}',
  '6db65fd5-9fd3-86f6-b291-40571b5bcd6b\n',
  "6db65fd5-9fd3-86f6-b291-40571b5bcd6'",
  'x'.repeat(10_000),
])('%j is the id of no deposit', (text) => {
  expect(parseDepositId(text)).toBeUndefined();
});

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  BrokenChain,
  brokenLink,
  hashOfValue,
  headAfter,
  linked,
  NO_RECORDS,
} from '../../schemas/hash-chain.ts';

function sha256(...parts: readonly Buffer[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}

const VALUES = ['one', 'two', 'three'].map((text) => Buffer.from(text));
const HASHES = VALUES.map(hashOfValue);

function headOf(hashes: readonly Buffer[]): Buffer {
  return hashes.reduce((head, hash) => headAfter(head, hash), NO_RECORDS);
}

test('a head is SHA-256 over the head before and SHA-256 of the value', () => {
  const [one = NO_RECORDS, two = NO_RECORDS] = VALUES;
  expect(headOf(HASHES.slice(0, 1))).toEqual(sha256(sha256(one)));
  expect(headOf(HASHES.slice(0, 2))).toEqual(sha256(sha256(sha256(one)), sha256(two)));
});

test('a hash keeps nothing but its 32 bytes in memory, since many are remembered', () => {
  for (const hash of [...HASHES, headOf(HASHES)]) expect(hash.buffer.byteLength).toBe(32);
});

test('a head differs when a record is missing, added or moved', () => {
  const orders = [[0, 1, 2], [1, 0, 2], [0, 2], [0, 1], [0, 1, 1, 2], [2, 1, 0], []];
  const heads = orders.map((order) => headOf(order.map((at) => HASHES[at] ?? NO_RECORDS)));
  expect(new Set(heads.map(String)).size).toBe(orders.length);
});

test('an event follows the head that it names, and any head when it names none', () => {
  const head = headOf(HASHES);
  for (const previous of [head, NO_RECORDS, undefined])
    expect(
      brokenLink(head, previous === undefined ? { sequence: 3 } : { sequence: 3, previous }, 3n),
    ).toBe(undefined);
  expect(linked(head, { sequence: 3, previous: head }, 3n, HASHES[0])).toEqual(
    headAfter(head, HASHES[0]),
  );
});

test('an event that names another head breaks the chain, which names both', () => {
  const [head, other] = [headOf(HASHES), headOf(HASHES.slice(1))];
  const broken = brokenLink(head, { sequence: 3, previous: other }, 3n);
  expect(broken).toContain(head.toString('hex'));
  expect(broken).toContain(other.toString('hex'));
  expect(() => linked(head, { sequence: 3, previous: other }, 3n, HASHES[0])).toThrow(BrokenChain);
  expect(brokenLink(NO_RECORDS, { sequence: 0, previous: other }, 0n)).toContain(
    other.toString('hex'),
  );
});

test('an event at another offset than it was written for says nothing about the records before it', () => {
  const other = headOf(HASHES.slice(1));
  expect(brokenLink(headOf(HASHES), { sequence: 3, previous: other }, 4n)).toBe(undefined);
});

test('nothing follows a record whose value is not known', () => {
  const head = headOf(HASHES);
  expect(
    brokenLink(headAfter(head), { sequence: 4, previous: headAfter(head, HASHES[0]) }, 4n),
  ).not.toBe(undefined);
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fingerprint, ListQuery, ListedRow } from '../../../../infra/devnet/tron/listing.ts';
import {
  decodeFingerprint,
  encodeFingerprint,
  pageOf,
} from '../../../../infra/devnet/tron/listing.ts';

const QUERY: ListQuery = {
  account: 'a',
  only_confirmed: true,
  only_unconfirmed: false,
  only_to: false,
  only_from: false,
  contract: undefined,
  limit: 3,
  ascending: true,
  min_timestamp: 0,
  max_timestamp: Number.MAX_SAFE_INTEGER,
};

/** Rows of a few blocks, many with the same timestamp. */
const rows = fc
  .array(
    fc.record({
      block: fc.nat(6),
      to: fc.constantFrom('a', 'b'),
      contract: fc.constantFrom('c', 'd'),
    }),
    { maxLength: 40 },
  )
  .map((drafts) =>
    drafts
      .toSorted((one, other) => one.block - other.block)
      .map(({ block, to, contract }, index): ListedRow => ({
        position: [block, index, 0],
        block_timestamp: 1_000 * block,
        transaction_id: String(index),
        contract,
        event: 'Transfer',
        from: to === 'a' ? 'b' : 'a',
        to,
        value: 1n,
      })),
  );

const queries = fc.record({
  only_to: fc.boolean(),
  only_from: fc.boolean(),
  contract: fc.constantFrom(undefined, 'c'),
  limit: fc.integer({ min: 1, max: 7 }),
  ascending: fc.boolean(),
  min_timestamp: fc.nat(6_500),
  max_timestamp: fc.nat(6_500),
});

function brute(all: readonly ListedRow[], query: ListQuery): readonly ListedRow[] {
  const found = all.filter(
    (row) =>
      row.block_timestamp >= query.min_timestamp &&
      row.block_timestamp <= query.max_timestamp &&
      (!query.only_to || row.to === query.account) &&
      (!query.only_from || row.from === query.account) &&
      (query.contract === undefined || row.contract === query.contract),
  );
  return query.ascending ? found : found.toReversed();
}

test('pages return every matching row once and in order, also with equal timestamps', () => {
  fc.assert(
    fc.property(rows, queries, (all, change) => {
      const query = { ...QUERY, ...change };
      const seen: ListedRow[] = [];
      let next: Fingerprint | undefined;
      do {
        const page = pageOf(all, query, next?.last ?? null);
        expect(page.rows.length).toBeLessThanOrEqual(query.limit);
        if (page.fingerprint !== undefined) expect(page.rows.length).toBe(query.limit);
        seen.push(...page.rows);
        next =
          page.fingerprint === undefined
            ? undefined
            : decodeFingerprint(encodeFingerprint(page.fingerprint, query), query);
        expect(next).toEqual(page.fingerprint);
      } while (next !== undefined);
      expect(seen).toEqual(brute(all, query));
    }),
    { numRuns: 500 },
  );
});

test('rows added between two pages neither shift nor repeat other rows', () => {
  fc.assert(
    fc.property(rows, fc.nat(40), (all, early) => {
      const known = all.slice(0, early);
      for (const ascending of [true, false]) {
        const query = { ...QUERY, ascending };
        const first = pageOf(known, query, null);
        if (first.fingerprint === undefined) continue;
        const rest = pageOf(all, { ...query, limit: 200 }, first.fingerprint.last);
        expect([...first.rows, ...rest.rows]).toEqual(ascending ? all : known.toReversed());
      }
    }),
  );
});

test.each(['', 'x', 'null', '💥', Buffer.from('[1,2]').toString('base64url'), 'A'.repeat(500)])(
  '%j is not accepted as a fingerprint',
  (text) => {
    expect(decodeFingerprint(text, QUERY)).toBeUndefined();
  },
);

test('a fingerprint is valid for its own query only', () => {
  const text = encodeFingerprint({ last: [1, 0, 0], before: null }, QUERY);
  expect(decodeFingerprint(text, QUERY)).toEqual({ last: [1, 0, 0], before: null });
  for (const change of [
    { limit: 4 },
    { min_timestamp: 1 },
    { account: 'b' },
    { contract: 'c' },
    { only_to: true },
  ])
    expect(decodeFingerprint(text, { ...QUERY, ...change })).toBeUndefined();
});

import { expect, test } from 'vitest';
import { DEVELOPMENT_CUSTODY } from '../../../../schemas/development.ts';
import { parseTronAddress } from '../../../../schemas/tron-address.ts';
import { assertPinned } from '../../../../services/treasury/reconciliation/pinned-custody.ts';

const usdt_contract = Buffer.alloc(20, 9);
const own = parseTronAddress(DEVELOPMENT_CUSTODY) ?? Buffer.alloc(0);
const other = Buffer.alloc(20, 1);
const PINNED = { usdt_contract, custody_addresses: [own, other] };

test('a run with the pinned custody is made, in any order, and where none is pinned', () => {
  expect(() => assertPinned(PINNED, PINNED)).not.toThrow();
  const reordered = { usdt_contract, custody_addresses: [other, own] };
  expect(() => assertPinned(PINNED, reordered)).not.toThrow();
  expect(() => assertPinned(undefined, { usdt_contract, custody_addresses: [] })).not.toThrow();
});

test.each([
  ['no address, as in a shell without the setting', { custody_addresses: [] }],
  ['an address less', { custody_addresses: [own] }],
  ['an address more', { custody_addresses: [own, other, Buffer.alloc(20, 2)] }],
  ['another token', { usdt_contract: Buffer.alloc(20, 8) }],
])('a run with %s is refused, and says which is pinned', (_what, change) => {
  const settings = { ...PINNED, ...change };
  expect(() => assertPinned(PINNED, settings)).toThrow(DEVELOPMENT_CUSTODY);
  expect(() => assertPinned(PINNED, settings)).toThrow('ops custody set');
});

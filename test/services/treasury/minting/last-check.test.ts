import { describe, expect, test } from 'vitest';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import type { DepositConfirmed } from '../../../../schemas/treasury.ledger/events.ts';
import { LastCheck } from '../../../../services/treasury/minting/last-check.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';

const USD = 1_000_000n;
const to = Buffer.alloc(20, 0xc1);

function deposit(byte: number, change: Partial<DepositConfirmed> = {}): DepositConfirmed {
  const tx_id = Buffer.alloc(32, byte);
  return confirmedEvent({ tx_id, deposit_id: depositIdOf(tx_id, 0), ...change });
}

/** A check that knows this deposit, with a mint of this amount requested. */
function requested(event: DepositConfirmed, amount: bigint, times = 1): LastCheck {
  const check = new LastCheck();
  check.apply(event);
  for (let nonce = 0; nonce < times; nonce++)
    check.apply(
      depositEvents(event.deposit_id).intended({ to, amount, nonce, tx_hash: Buffer.alloc(32) }),
    );
  return check;
}

describe('a Mint', () => {
  const event = deposit(1);
  const mint = { deposit_id: event.deposit_id, amount: 8n * USD };

  test('may be signed for what arrived less the fee', () => {
    expect(requested(event, mint.amount).whyNot(mint, 10n * USD)).toBe(undefined);
  });

  test.each([
    ['of more than arrived less the fee', { amount: 8n * USD + 1n }],
    ['of nothing', { amount: 0n }],
    ['of less than nothing', { amount: -1n }],
    ['of another deposit', { deposit_id: deposit(2).deposit_id }],
  ])('%s is not signed', (_what, change) => {
    const other = { ...mint, ...change };
    expect(requested(event, other.amount).whyNot(other, 10n * USD)).toBeTypeOf('string');
  });

  test.each([undefined, 9n * USD, 11n * USD, 0n])('is not signed where %s arrived', (arrived) => {
    expect(requested(event, mint.amount).whyNot(mint, arrived)).toBeTypeOf('string');
  });

  test('is not signed on terms with a negative fee, whatever let them pass', () => {
    const forged = deposit(1, { gross: 1n, fee: -1_000_000n * USD, credit: 1_000_000n * USD + 1n });
    const amount = forged.credit;
    const check = requested(forged, amount);
    expect(check.whyNot({ deposit_id: forged.deposit_id, amount }, 1n)).toMatch(/fee is -/);
  });

  test('is not signed while a deposit is requested twice, and is once one of the two is dead', () => {
    const check = requested(event, mint.amount, 2);
    expect(check.whyNot(mint, 10n * USD)).toMatch(/^all mints together are of 16000000/);
    check.apply(depositEvents(event.deposit_id).dead(Buffer.alloc(32), 0));
    expect(check.whyNot(mint, 10n * USD)).toBe(undefined);
  });

  test('is not signed while mints of others are of more than arrived for them', () => {
    const check = requested(event, mint.amount);
    const other = deposit(2);
    check.apply(other);
    const intent = { to, amount: 9n * USD, nonce: 1, tx_hash: Buffer.alloc(32) };
    check.apply(depositEvents(other.deposit_id).intended(intent));
    expect(check.whyNot(mint, 10n * USD)).toMatch(/^all mints together/);
    check.apply(depositEvents(other.deposit_id).rejected());
    expect(check.whyNot(mint, 10n * USD)).toBe(undefined);
  });
});

import { expect, test } from 'vitest';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import { AMOUNT_MAX } from '../../../../schemas/money.ts';
import { execute } from '../../../../infra/devnet/clt/execute.ts';
import { StateOverlay, SUPPLY } from '../../../../infra/devnet/clt/state.ts';
import { World, transactionOf } from '../../../support/clt-world.ts';

const SOMEBODY = `0x${'77'.repeat(20)}`;
const transfer = (to: string, amount: bigint): FunctionCall => ({
  function_call_type: 'Transfer',
  arguments: { to, amount },
});
const mint = (to: string, amount: bigint): FunctionCall => ({
  function_call_type: 'Mint',
  arguments: { to, amount, reference: null },
});
const burn = (amount: bigint): FunctionCall => ({
  function_call_type: 'Burn',
  arguments: { amount, redemption_ref: null },
});

test('a transfer moves its amount and charges its sender the fee', () => {
  const world = new World();
  const { faucet, validators } = world.genesis.cast;
  const before = world.balance(faucet.address);
  expect(world.act(faucet.address, transfer(SOMEBODY, 5n))).toMatchObject({
    fee: 1_000n,
    effects: [
      { address: faucet.address, kind: 'transfer_out', delta: -5n, counterparty: SOMEBODY },
      { address: SOMEBODY, kind: 'transfer_in', delta: 5n, counterparty: faucet.address },
      {
        address: faucet.address,
        kind: 'tx_fee_paid',
        delta: -1_000n,
        counterparty: validators[0]?.address,
      },
    ],
  });
  expect(world.balance(faucet.address)).toBe(before - 1_005n);
  expect(world.balance(SOMEBODY)).toBe(5n);
});

test('the producer of the block pays no fee for its own transaction', () => {
  const world = new World();
  const producer = world.genesis.cast.validators[0]?.address ?? '';
  expect(world.act(producer, transfer(SOMEBODY, 1n), producer)).toMatchObject({ fee: 0n });
  expect(world.act(producer, transfer(SOMEBODY, 1n), SOMEBODY)).toMatchObject({ fee: 1_000n });
});

test('balances beyond 2^53 base units are exact', () => {
  const world = new World();
  const { faucet } = world.genesis.cast;
  const all = world.balance(faucet.address);
  expect(all).toBeGreaterThan(1n << 53n);
  expect(world.act(faucet.address, transfer(SOMEBODY, all - 999n))).toMatchObject({
    refused: 'insufficient_balance',
  });
  world.done(faucet.address, transfer(SOMEBODY, all - 1_000n));
  expect(world.balance(faucet.address)).toBe(0n);
});

test('an account may transfer its balance less the fee to itself', () => {
  const world = new World();
  const { faucet } = world.genesis.cast;
  const before = world.balance(faucet.address);
  world.done(faucet.address, transfer(faucet.address, before - 1_000n));
  expect(world.balance(faucet.address)).toBe(before - 1_000n);
});

test('only the mint authority mints; mints and burns change the supply', () => {
  const world = new World();
  const { mint_authority, faucet } = world.genesis.cast;
  const supply = (): bigint | undefined => world.state.get('supply', SUPPLY);
  expect(world.act(faucet.address, mint(SOMEBODY, 7n))).toMatchObject({ refused: 'not_allowed' });
  world.done(mint_authority.address, mint(SOMEBODY, 7_000_000n));
  expect(supply()).toBe(world.genesis.allocation + 7_000_000n);
  expect(world.act(SOMEBODY, burn(7_000_000n))).toMatchObject({ refused: 'insufficient_balance' });
  world.done(SOMEBODY, burn(6_000_000n));
  expect(supply()).toBe(world.genesis.allocation + 1_000_000n);
  expect(world.balance(SOMEBODY)).toBe(999_000n);
});

test('a mint that would take the supply beyond 2^256 - 1 is refused', () => {
  const world = new World();
  const { mint_authority } = world.genesis.cast;
  expect(world.act(mint_authority.address, mint(SOMEBODY, AMOUNT_MAX))).toMatchObject({
    refused: 'supply_overflow',
  });
  world.done(mint_authority.address, mint(SOMEBODY, AMOUNT_MAX - world.genesis.allocation));
});

test.each([transfer(SOMEBODY, 0n), burn(0n), mint(SOMEBODY, 0n)])(
  '$function_call_type of amount 0 is refused',
  (call) => {
    const world = new World();
    expect(world.act(world.genesis.cast.mint_authority.address, call)).toMatchObject({
      refused: 'amount_is_zero',
    });
  },
);

test('used, skipped and next nonces have distinct answers', () => {
  const world = new World();
  const { faucet } = world.genesis.cast;
  world.done(faucet.address, transfer(SOMEBODY, 1n));
  const at = (nonce: number): unknown =>
    execute(
      new StateOverlay(world.state),
      transactionOf(faucet.address, nonce, transfer(SOMEBODY, 1n)),
      world.genesis.parameters,
      undefined,
    );
  expect(at(0)).toMatchObject({ refused: 'nonce_too_low' });
  expect(at(2)).toMatchObject({ refused: 'nonce_gap' });
  expect(at(1)).toHaveProperty('effects');
});

test('an unknown account has balance 0', () => {
  const world = new World();
  expect(world.act(SOMEBODY, transfer(world.genesis.cast.faucet.address, 1n))).toMatchObject({
    refused: 'insufficient_balance',
  });
});

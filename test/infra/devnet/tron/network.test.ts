import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DamagedLog } from '../../../../infra/devnet/store/block-log.ts';
import type { Submission } from '../../../../infra/devnet/tron/network.ts';
import { TronNetwork } from '../../../../infra/devnet/tron/network.ts';
import { addressDigits, calldataOf } from '../../../../infra/devnet/tron/transaction.ts';
import { ALICE, BOB, COUNTERFEIT, USDT } from '../../../support/tron.ts';

const BEGIN = 1_700_000_000_000;
const ACCOUNTS = [ALICE, BOB].map((address) => addressDigits(address) ?? '');
const CONTRACTS = [USDT, COUNTERFEIT].map((address) => addressDigits(address) ?? '');
let directory = '';

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-tron-'));
});
afterEach(() => {
  fs.rmSync(directory, { recursive: true, force: true });
});

function open(at: string, now = BEGIN): TronNetwork {
  return new TronNetwork(
    at,
    { seed: 'test', is_testnet: true, solidify_ms: 1_500 },
    now,
    (error) => {
      throw error;
    },
  );
}

function transfer(
  from: number,
  to: number,
  contract: number,
  value: bigint,
  solidified: Submission['solidified'],
): Submission {
  const names = {
    from: ACCOUNTS[from] ?? '',
    to: ACCOUNTS[to] ?? '',
    contract: CONTRACTS[contract] ?? '',
  };
  const log = { ...names, event: 'Transfer', value } as const;
  const call = {
    asset: 'TRC20',
    from: log.from,
    contract: log.contract,
    calldata: calldataOf(log),
    outcome: 'SUCCESS',
  } as const;
  return { transaction: { ...call, logs: [log], listed: true }, solidified };
}

/** All that anybody could ask. */
function everything({ chain }: TronNetwork): unknown {
  const { holder } = chain.genesis;
  return {
    head: chain.head,
    solidified: chain.solidified,
    token: chain.token,
    open: chain.open,
    size: chain.size,
    rows: ACCOUNTS.map((account) => [chain.solidRows(account), chain.includedRows(account)]),
    balances: [...ACCOUNTS, holder].map((account) =>
      CONTRACTS.map((contract) => [
        chain.balance(contract, account, 'head'),
        chain.balance(contract, account, 'solidified'),
      ]),
    ),
    as_of: [0, 1_000, 5_000, 60_000].map((ago) => chain.solidifiedAsOf(chain.head.timestamp - ago)),
  };
}

test('the rules of the token are kept on disk', async () => {
  const network = open(directory);
  network.setToken({ paused: true, blocked: ACCOUNTS });
  const [, other = ''] = ACCOUNTS;
  const set = { paused: true, fee_basis_points: 10, maximum_fee: 1n << 60n, blocked: [other] };
  expect(network.setToken(set)).toEqual({ deprecated: false, ...set });
  const before = everything(network);
  await network.close();
  const again = open(directory);
  expect(everything(again)).toEqual(before);
  await again.close();
});

test('with default settings a transfer is in the next block and solid within 3 s', async () => {
  const network = open(directory);
  const [id = ''] = [network.submit([transfer(0, 1, 0, 5n, 'soon')])].flatMap((ids) =>
    'refused' in ids ? [] : ids,
  );
  const statuses = [1_000, 2_000, 3_000].map((after_ms) => {
    network.produce(BEGIN + after_ms);
    const { block, status } = network.chain.entry(id) ?? {};
    return [block?.timestamp, status];
  });
  expect(statuses).toEqual(['open', 'open', 'solidified'].map((status) => [BEGIN + 1_000, status]));
  await network.close();
});

test('a held transfer stays open when another one of its block is solidified', async () => {
  const network = open(directory);
  const [held = '', other = ''] = [
    network.submit([transfer(0, 1, 0, 5n, 'on_demand'), transfer(0, 1, 0, 6n, 'soon')]),
  ].flatMap((ids) => ('refused' in ids ? [] : ids));
  const block = network.produce(BEGIN + 1_000);
  expect(network.solidify(other, BEGIN + 1_100)).toEqual(block);
  expect([held, other].map((id) => network.chain.entry(id)?.status)).toEqual([
    'open',
    'solidified',
  ]);
  // asked for itself it comes in a block behind, never into one that is solid
  for (const ask of [held, undefined]) network.solidify(ask, BEGIN + 1_200);
  expect(network.chain.entry(held)).toMatchObject({
    status: 'solidified',
    block: { number: block.number + 1 },
  });
  await network.close();
});

test('the solidified head is known for every time of the last ten minutes', async () => {
  const network = open(directory);
  for (let second = 1; second <= 1_500; second++) network.produce(BEGIN + 1_000 * second);
  const asOf = (second: number): number =>
    (network.chain.solidifiedAsOf(BEGIN + 1_000 * second).timestamp - BEGIN) / 1_000;
  for (const second of [1_500, 1_499, 1_200, 900]) expect(asOf(second)).toBe(second - 2);
  expect(asOf(0)).toBeGreaterThan(800);
  await network.close();
});

type Step =
  | { readonly do: 'submit'; readonly submission: Submission }
  | { readonly do: 'produce'; readonly after_ms: number }
  | { readonly do: 'solidify' | 'drop'; readonly which: number }
  | { readonly do: 'solidify_all' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('submit' as const),
      submission: fc
        .tuple(
          fc.nat(1),
          fc.nat(1),
          fc.nat(1),
          fc.bigInt(0n, 1n << 54n),
          fc.constantFrom('soon' as const, 'on_demand' as const),
        )
        .map((draft) => transfer(...draft)),
    }),
    fc.record({
      do: fc.constant('produce' as const),
      after_ms: fc.integer({ min: -500, max: 2_000 }),
    }),
    fc.record({ do: fc.constantFrom('solidify' as const, 'drop' as const), which: fc.nat(20) }),
    fc.constant({ do: 'solidify_all' as const }),
  ),
  { maxLength: 40 },
);

/** Takes the steps and looks after each that what was solid stays as it was. */
function run(network: TronNetwork, all: readonly Step[]): void {
  const { chain } = network;
  let clock = chain.head.timestamp;
  const ids: string[] = [];
  for (const step of all) {
    const before = {
      solidified: chain.solidified,
      rows: ACCOUNTS.map((account) => [...chain.solidRows(account)]),
    };
    if (step.do === 'submit') {
      const submitted = network.submit([step.submission]);
      if (!('refused' in submitted)) ids.push(...submitted);
    } else if (step.do === 'produce') network.produce((clock += step.after_ms));
    else if (step.do === 'solidify') network.solidify(ids[step.which] ?? 'none', clock);
    else if (step.do === 'drop') network.drop(ids[step.which] ?? 'none');
    else network.solidify(undefined, clock);
    expect(chain.solidified.number).toBeGreaterThanOrEqual(before.solidified.number);
    expect(chain.solidified.number).toBeLessThanOrEqual(chain.head.number);
    for (const [index, account] of ACCOUNTS.entries()) {
      const rows = chain.solidRows(account);
      const old = before.rows[index] ?? [];
      expect(rows.slice(0, old.length)).toEqual(old);
      // newly solid transfers are in blocks that were not solid before
      for (const row of rows.slice(old.length)) {
        expect(row.position[0]).toBeGreaterThan(before.solidified.number);
        expect(row.block_timestamp).toBeGreaterThan(before.solidified.timestamp);
        expect(row.position[0]).toBeLessThanOrEqual(chain.solidified.number);
      }
    }
    const { usdt_contract, holder, supply } = chain.genesis;
    for (const side of ['head', 'solidified'] as const) {
      const owned = [...ACCOUNTS, holder].map((account) =>
        chain.balance(usdt_contract, account, side),
      );
      expect(owned.reduce((sum, each) => sum + each)).toBe(supply);
      expect(owned.every((each) => each >= 0n)).toBe(true);
    }
  }
}

test('after random events solid rows never change, the USDT supply is constant, and a restart restores it', async () => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const place = path.join(directory, String(round++));
      const network = open(place);
      run(network, all);
      await network.close();
      const again = open(place, BEGIN + 999_999);
      expect(everything(again)).toEqual(everything(network));
      run(again, all);
      await again.close();
    }),
    { numRuns: 30 },
  );
});

test('a record torn at any byte is cut off and the network continues from before it', async () => {
  const network = open(directory);
  network.submit([transfer(0, 1, 0, 5n, 'soon')]);
  const before = everything(network);
  const file = path.join(directory, 'tron.log');
  const whole = fs.statSync(file).size;
  network.produce(BEGIN + 1_000);
  await network.close();
  const bytes = fs.readFileSync(file);
  for (let length = whole; length < bytes.length; length += 7) {
    const torn = fs.mkdtempSync(path.join(directory, 'torn-'));
    fs.writeFileSync(path.join(torn, 'tron.log'), bytes.subarray(0, length));
    const again = open(torn);
    expect(everything(again)).toEqual(before);
    again.produce(BEGIN + 2_000);
    expect(again.chain.head.number).toBe(2);
    await again.close();
  }
});

test('a changed byte in the middle of the log is an error', async () => {
  const network = open(directory);
  for (let made = 0; made < 5; made++) network.produce(BEGIN + 1_000 * made);
  await network.close();
  const file = path.join(directory, 'tron.log');
  const bytes = fs.readFileSync(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  fs.writeFileSync(file, bytes);
  expect(() => open(directory)).toThrow(DamagedLog);
});

test('a new network with the same seed has other transaction ids', async () => {
  const ids = [];
  for (const name of ['one', 'two']) {
    const network = open(path.join(directory, name), BEGIN + ids.length);
    const submitted = network.submit([transfer(0, 1, 0, 5n, 'soon')]);
    ids.push(...('refused' in submitted ? [] : submitted));
    await network.close();
  }
  expect(new Set(ids).size).toBe(2);
});

test("a mainnet network uses mainnet's USDT contract", async () => {
  const network = new TronNetwork(
    directory,
    { seed: 'test', is_testnet: false, solidify_ms: 0 },
    BEGIN,
    () => undefined,
  );
  expect(network.chain.genesis.usdt_contract).toBe('a614f803b6fd780986a42c78ec9c7f77e6ded13c');
  await network.close();
});

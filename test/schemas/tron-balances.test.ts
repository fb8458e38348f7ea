/** The init code of the balances call, run by an Ethereum Virtual Machine against a token. */
import { createEVM } from '@ethereumjs/evm';
import { Account, Address } from '@ethereumjs/util';
import { id } from 'ethers';
import { expect, test } from 'vitest';
import {
  balancesCall,
  BLOCKED_FUNCTION,
  readBalancesCall,
  TOKEN_FUNCTIONS,
} from '../../schemas/tron-balances.ts';
import { parseBalances } from '../../schemas/trongrid.ts';
import { named } from '../support/chain-by-hand.ts';

const TOKEN = named('token');

/** A token with `balanceOf(address)`, which runs this code for any other function. */
function tokenWith(others: string): string {
  const balance = (0x0f + others.length / 2).toString(16).padStart(2, '0');
  return `60003560e01c6370a082311460${balance}57${others}5b6004355460005260206000f3`;
}

/** Each function answers the storage of its selector and its parameter. */
const WHOLE = '60003560e01c60a01b600435175460005260206000f3';
const REVERTS = '600080fd';
const ANSWERS_NOTHING = '00';
const ANSWERS_TWO_WORDS = '60406000f3';

const users = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, at) => named(`user ${at}`));

/** Every third account is empty. */
function balanceOf(at: number): bigint {
  return at % 3 === 0 ? 0n : 10n ** 15n + BigInt(at);
}

/** Where `WHOLE` keeps the answer. */
function place(name: string, parameter: Buffer = Buffer.alloc(20)): Buffer<ArrayBuffer> {
  return Buffer.concat([Buffer.alloc(8), Buffer.from(id(name).slice(2, 10), 'hex'), parameter]);
}

/** Where `tokenWith` keeps the balance. */
function plainPlace(account: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([Buffer.alloc(12), account]);
}

interface Ran {
  readonly failed: boolean;
  readonly returned: Buffer;
}

type Storage = readonly (readonly [place: Buffer<ArrayBuffer>, value: bigint])[];

/** The call as a node makes it: a deployment, whose code is what the init code returns. */
async function run(data: Buffer, code: string | undefined, storage: Storage = []): Promise<Ran> {
  const evm = await createEVM();
  const token = new Address(TOKEN);
  await evm.stateManager.putAccount(token, new Account());
  if (code !== undefined) await evm.stateManager.putCode(token, Buffer.from(code, 'hex'));
  for (const [key, value] of storage.filter(([, each]) => each > 0n)) {
    const word = Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
    await evm.stateManager.putStorage(token, key, word);
  }
  const { execResult } = await evm.runCall({ data, gasLimit: 100_000_000n });
  return {
    failed: execResult.exceptionError !== undefined,
    returned: Buffer.from(execResult.returnValue),
  };
}

function answerOf({ returned }: Ran): unknown {
  return { result: { result: true }, constant_result: [returned.toString('hex')] };
}

const QUIET = { paused: false, deprecated: false, fee_basis_points: 0n, maximum_fee: 0n };

const plainBalances: Storage = users(200).map((user, at) => [plainPlace(user), balanceOf(at)]);

test.each([1, 2, 7, 200])(
  'the balances of %i accounts are returned in their order, and whether the token blocks each',
  async (count) => {
    const storage = users(200).flatMap((user, at): Storage => [
      [place('balanceOf(address)', user), balanceOf(at)],
      [place('isBlackListed(address)', user), at % 5 === 1 ? 1n : 0n],
    ]);
    const ran = await run(balancesCall(TOKEN, users(count)), WHOLE, storage);
    expect(ran.failed).toBe(false);
    expect(parseBalances(answerOf(ran), count)).toEqual({
      value: {
        token: QUIET,
        balances: Array.from({ length: count }, (_, at) => ({
          balance: balanceOf(at),
          is_blocked: at % 5 === 1,
        })),
      },
    });
  },
);

test.each([
  ['paused()', 1n, { paused: true }],
  ['deprecated()', 1n, { deprecated: true }],
  ['basisPointsRate()', 10n, { fee_basis_points: 10n }],
  ['maximumFee()', 10n ** 7n, { maximum_fee: 10n ** 7n }],
])('%s of the token is in the answer, with and without addresses', async (name, value, shown) => {
  for (const count of [0, 3]) {
    const call = balancesCall(TOKEN, users(count));
    const ran = await run(call, WHOLE, [[place(name), value]]);
    expect(parseBalances(answerOf(ran), count)).toEqual({
      value: {
        token: { ...QUIET, ...shown },
        balances: users(count).map(() => ({ balance: 0n, is_blocked: false })),
      },
    });
  }
});

test.each([
  ['has no other functions', '600080fd'],
  ['reverts them with a word', '600160005260206000fd'],
  ['answers nothing for them', '00'],
  ['answers two words for them', '600160005260406000f3'],
  ['runs into an invalid instruction', 'fe'],
  ['wastes all energy on them', '5b600f56'],
])('a token that %s blocks nobody, and the balances are as they are', async (_what, others) => {
  const ran = await run(balancesCall(TOKEN, users(20)), tokenWith(others), plainBalances);
  expect(parseBalances(answerOf(ran), 20)).toEqual({
    value: {
      token: QUIET,
      balances: users(20).map((_user, at) => ({ balance: balanceOf(at), is_blocked: false })),
    },
  });
});

test.each([
  ['is reverted', REVERTS],
  ['answers nothing', ANSWERS_NOTHING],
  ['answers two words', ANSWERS_TWO_WORDS],
  ['has no code', undefined],
])('a token that %s yields no balances', async (_what, code) => {
  const { failed, returned } = await run(balancesCall(TOKEN, users(3)), code, plainBalances);
  expect([failed, returned.length]).toEqual([true, 0]);
  const answer = { result: { result: true }, constant_result: [''] };
  expect(parseBalances(answer, 3)).toHaveProperty('problem');
});

test('the call is read back as it was made, and other data is not', () => {
  const addresses = users(3);
  const call = balancesCall(TOKEN, addresses);
  expect(readBalancesCall(call)).toEqual({ token: TOKEN, addresses });
  expect(readBalancesCall(call.subarray(0, -1))).toBeUndefined();
  expect(readBalancesCall(call.subarray(1))).toBeUndefined();
  expect(readBalancesCall(Buffer.alloc(0))).toBeUndefined();
});

test('the code asks the functions that are named', () => {
  const code = balancesCall(TOKEN, []).toString('hex');
  for (const name of ['balanceOf(address)', BLOCKED_FUNCTION, ...TOKEN_FUNCTIONS])
    expect(code).toContain(`63${id(name).slice(2, 10)}`);
});

test('an answer of more or fewer words is a problem', () => {
  const answer = { result: { result: true }, constant_result: ['0'.repeat(8 * 64)] };
  const nothing = { balance: 0n, is_blocked: false };
  expect(parseBalances(answer, 2)).toEqual({
    value: { token: QUIET, balances: [nothing, nothing] },
  });
  for (const count of [1, 3]) expect(parseBalances(answer, count)).toHaveProperty('problem');
});

/** The init code of the balances call, run by an Ethereum Virtual Machine against a token. */
import { createEVM } from '@ethereumjs/evm';
import { Account, Address } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { balancesCall, readBalancesCall } from '../../schemas/tron-balances.ts';
import { parseBalances } from '../../schemas/trongrid.ts';
import { named } from '../support/chain-by-hand.ts';

const TOKEN = named('token');
/** `balanceOf(address)` answers the storage of the account's word; other calls are reverted. */
const BALANCES = '60003560e01c6370a0823114601357600080fd5b6004355460005260206000f3';
const REVERTS = '600080fd';
const ANSWERS_NOTHING = '00';
const ANSWERS_TWO_WORDS = '60406000f3';

const users = (count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, at) => named(`user ${at}`));

/** Every third account is empty. */
function balanceOf(at: number): bigint {
  return at % 3 === 0 ? 0n : 10n ** 15n + BigInt(at);
}

interface Ran {
  readonly failed: boolean;
  readonly returned: Buffer;
}

/** The call as a node makes it: a deployment, whose code is what the init code returns. */
async function run(data: Buffer, code: string | undefined): Promise<Ran> {
  const evm = await createEVM();
  const token = new Address(TOKEN);
  await evm.stateManager.putAccount(token, new Account());
  if (code !== undefined) await evm.stateManager.putCode(token, Buffer.from(code, 'hex'));
  for (const [at, user] of users(200).entries()) {
    const value = Buffer.from(balanceOf(at).toString(16).padStart(64, '0'), 'hex');
    const key = Buffer.concat([Buffer.alloc(12), user]);
    if (balanceOf(at) > 0n) await evm.stateManager.putStorage(token, key, value);
  }
  const { execResult } = await evm.runCall({ data, gasLimit: 100_000_000n });
  return {
    failed: execResult.exceptionError !== undefined,
    returned: Buffer.from(execResult.returnValue),
  };
}

test.each([1, 2, 7, 200])(
  'the balances of %i accounts are returned in their order',
  async (count) => {
    const { failed, returned } = await run(balancesCall(TOKEN, users(count)), BALANCES);
    expect(failed).toBe(false);
    const answer = { result: { result: true }, constant_result: [returned.toString('hex')] };
    expect(parseBalances(answer, count)).toEqual({
      value: Array.from({ length: count }, (_, at) => balanceOf(at)),
    });
  },
);

test.each([
  ['is reverted', REVERTS],
  ['answers nothing', ANSWERS_NOTHING],
  ['answers two words', ANSWERS_TWO_WORDS],
  ['has no code', undefined],
])('a token that %s yields no balances', async (_what, code) => {
  const { failed, returned } = await run(balancesCall(TOKEN, users(3)), code);
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

test('an answer of more or fewer words is a problem', () => {
  const answer = { result: { result: true }, constant_result: ['0'.repeat(128)] };
  expect(parseBalances(answer, 2)).toEqual({ value: [0n, 0n] });
  for (const count of [1, 3]) expect(parseBalances(answer, count)).toHaveProperty('problem');
});

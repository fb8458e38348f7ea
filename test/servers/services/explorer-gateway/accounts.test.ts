/** Accounts, activity, past balances and validators, compared with a plain list of blocks. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  exactJson,
  plainAccount,
  plainActivity,
  plainBalance,
  plainValidators,
} from '../../../projections/explorer/plain-answers.ts';
import { ODD_KIND, POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  fillExplorer,
  mostFrequent,
  producedBy,
  seededBlocks,
} from '../../../projections/explorer/seeded-rows.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const FIRST = 5;
const ordinary = seededBlocks({
  seed: 41,
  blocks: 260,
  transactions_max: 9,
  first_height: FIRST,
  addresses: 40,
  producers: 30,
});
// the last of them rest for more than the newest 100 blocks
const awake = new Set(ordinary.slice(0, 20).map(({ producer }) => toHex(producer)));
const someone = ordinary[0]?.producer ?? POOL;
const blocks = producedBy(
  someone,
  ordinary,
  ({ producer }, at) => at >= 150 && !awake.has(toHex(producer)),
);
const newest = FIRST + blocks.length - 1;
const everyone = [
  ...new Map(
    blocks.flatMap(({ effects }) => effects.map(({ address }) => [toHex(address), address])),
  ).values(),
];
const hot = mostFrequent(blocks);
const nobody = Buffer.alloc(20, 1);

let explorer: ExplorerServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url });
});
afterAll(() => explorer.close());

async function answers(path: string, wanted: string): Promise<void> {
  const { status, text } = await explorer.get(path);
  expect({ path, status, text }).toEqual({ path, status: 200, text: wanted });
}

test('the chain of these tests has the cases that they need', () => {
  const effects = blocks.flatMap((block) => block.effects);
  expect(everyone.length).toBeGreaterThan(30);
  expect(
    effects.filter(({ delta }) => delta > 2n ** 53n && delta < 10n ** 29n).length,
  ).toBeGreaterThan(50);
  expect(effects.filter(({ delta }) => delta === 0n).length).toBeGreaterThan(10);
  expect(effects.some(({ kind }) => kind === ODD_KIND)).toBe(true);
  expect(
    effects.filter(({ tx_index: index, counterparty }) => index === null && counterparty !== null)
      .length,
  ).toBeGreaterThan(50);
  const validators = plainValidators(blocks, 100);
  expect([
    validators.includes('"is_active":true'),
    validators.includes('"is_active":false'),
  ]).toEqual([true, true]);
  expect(plainAccount(blocks, POOL)).toContain('"is_contract":true');
});

test('every account has the state that its transactions and effects give it', async () => {
  for (const address of everyone)
    await answers(`/api/v1/accounts/${toHex(address)}`, plainAccount(blocks, address));
});

test('an account is found by its address in any notation, and shown in lower case', async () => {
  const digits = hot.toString('hex');
  for (const text of [
    digits,
    `0x${digits}`,
    digits.toUpperCase(),
    `0x${digits.toUpperCase()}`,
    `0X${digits}`,
  ]) {
    await answers(`/api/v1/accounts/${text}`, plainAccount(blocks, hot));
    await answers(`/api/v1/accounts/${text}/activity`, plainActivity(blocks, hot, activityLabel));
    const balance = exactJson({
      address: toHex(hot),
      height: newest,
      block_hash: toHex(blocks.at(-1)?.hash ?? nobody),
      balance: plainBalance(blocks, hot, newest),
    });
    await answers(`/api/v1/accounts/${text}/balance-at?height=${newest}`, balance);
  }
});

test('an unknown address has no account, no balance and an empty list of activity', async () => {
  const unknown = '{"code":"not_found","message":"no such account is indexed"}';
  for (const path of [
    `/api/v1/accounts/${toHex(nobody)}`,
    `/api/v1/accounts/${toHex(nobody)}/balance-at?height=${newest}`,
  ]) {
    const { status, text } = await explorer.get(path);
    expect([status, text]).toEqual([404, unknown]);
  }
  await answers(
    `/api/v1/accounts/${toHex(nobody)}/activity`,
    plainActivity(blocks, nobody, activityLabel),
  );
  await answers(
    `/api/v1/accounts/${toHex(nobody)}/activity?offset=7`,
    plainActivity(blocks, nobody, activityLabel, 20, 7n),
  );
});

test('any page of activity is newest first', async () => {
  for (const address of [hot, POOL, ...everyone.slice(2, 5)]) {
    const { activity_count: count }: { readonly activity_count: number } = JSON.parse(
      plainAccount(blocks, address),
    );
    const all = BigInt(count);
    for (const limit of [1, 7, 100]) {
      for (const offset of [
        0n,
        1n,
        60n,
        all - 1n,
        all,
        all + 1n,
        2n ** 63n - 1n,
        2n ** 63n,
        10n ** 40n,
      ]) {
        const path = `/api/v1/accounts/${toHex(address)}/activity?limit=${limit}&offset=${offset}`;
        await answers(path, plainActivity(blocks, address, activityLabel, limit, offset));
      }
    }
  }
});

test('the balance after any block is exact, and 0 before the first movement', async () => {
  for (const address of [hot, POOL, ...everyone.slice(3, 6)]) {
    for (const height of [FIRST, FIRST + 1, 17, 100, 150, newest - 1, newest]) {
      const hash = blocks[height - FIRST]?.hash ?? nobody;
      const wanted = exactJson({
        address: toHex(address),
        height,
        block_hash: toHex(hash),
        balance: plainBalance(blocks, address, height),
      });
      await answers(`/api/v1/accounts/${toHex(address)}/balance-at?height=${height}`, wanted);
      await answers(`/api/v1/accounts/${toHex(address)}/balance-at?height=00${height}`, wanted);
    }
  }
});

test('the balance at an unknown height is not found, and the message gives the known heights', async () => {
  const message = `no block is indexed at this height: there are the heights from ${FIRST} to ${newest}`;
  for (const height of [
    0,
    FIRST - 1,
    newest + 1,
    2n ** 53n,
    2n ** 63n - 1n,
    2n ** 63n,
    10n ** 40n,
  ]) {
    for (const address of [hot, nobody]) {
      const { status, text } = await explorer.get(
        `/api/v1/accounts/${toHex(address)}/balance-at?height=${height}`,
      );
      expect({ height, status, text }).toEqual({
        height,
        status: 404,
        text: JSON.stringify({ code: 'not_found', message }),
      });
    }
  }
});

test('any page of validators is newest first', async () => {
  for (const limit of [1, 7, 100]) {
    for (const offset of [0n, 1n, 25n, 29n, 30n, 31n, 2n ** 63n, 10n ** 40n]) {
      await answers(
        `/api/v1/validators?limit=${limit}&offset=${offset}`,
        plainValidators(blocks, limit, offset),
      );
    }
  }
});

test('before the first block there is no account, no validator and no height', async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, []);
  const empty = await openExplorer({ postgres_reader_url: urls.reader_url });
  expect((await empty.get(`/api/v1/accounts/${toHex(hot)}`)).status).toBe(404);
  expect((await empty.get(`/api/v1/accounts/${toHex(hot)}/activity`)).text).toBe(
    plainActivity([], hot, activityLabel),
  );
  expect((await empty.get('/api/v1/validators')).text).toBe(plainValidators([]));
  const { status, text } = await empty.get(`/api/v1/accounts/${toHex(hot)}/balance-at?height=0`);
  expect([status, text]).toEqual([404, '{"code":"not_found","message":"no block is indexed yet"}']);
  await empty.close();
});

import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AddressBook } from '../../../../projections/deposits/domain/address-book.ts';
import { toHex } from '../../../../schemas/address.ts';
import { isDepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { hashOfValue } from '../../../../schemas/hash-chain.ts';
import { DEPOSIT_ADDRESSES } from '../../../../schemas/topics.ts';
import { accountAt, depositKey } from '../../../support/deposit-log.ts';
import { readAll, testKafka } from '../../../support/kafka.ts';
import { startOwnKafka } from '../../../support/own-kafka.ts';
import { Random } from '../../../support/random.ts';
import type { ServiceHandle, Stack } from '../../../support/stack.ts';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { openCodec } from '../../../support/codec.ts';

const USERS = 50;
const POSTS = 200;
const KILLS = 3;

/** Gateways and a projector as processes, on a Kafka of their own. */
let stack: Stack;
beforeAll(async () => {
  stack = await startOwnKafka();
});
afterAll(() => stack?.stop());

interface Answer {
  readonly user: number;
  readonly address: string;
}

/** Retries like an application: until there is an answer, also after the gateway is killed. */
async function insist(
  user: number,
  gateways: readonly (() => ServiceHandle)[],
  first: number,
): Promise<Answer> {
  const authorization = `Bearer ${goodToken({ pk: toHex(accountAt(user)), exp: 2 ** 40 }, SECRET)}`;
  for (let tries = 0; ; tries++) {
    const gateway = gateways[(first + tries) % gateways.length];
    const answer = await fetch(`${gateway?.().url}/api/v1/deposits`, {
      method: 'POST',
      headers: { authorization },
    }).catch(() => undefined);
    if (answer?.status === 200) {
      const text = await answer.text().catch(() => undefined);
      if (text === undefined) continue;
      const { address }: { readonly address: string } = JSON.parse(text);
      return { user, address };
    }
    if (answer !== undefined && answer.status !== 503)
      throw new Error(`${answer.status} ${await answer.text()}`);
    await after(100);
  }
}

test('200 first POSTs of 50 users at once, gateways and projector killed meanwhile: one address a user for ever, no index twice', async () => {
  const random = new Random(5);
  const settings = { APP_JWT_SECRET: SECRET, APP_RATE_PER_SECOND: '0' };
  const gateways = [
    await stack.spawnService('deposit-gateway', settings),
    await stack.spawnService('deposit-gateway', settings),
  ];
  let projector = await stack.spawnService('projector-deposits');
  await Promise.all([projector, ...gateways].map((service) => service.ready()));
  const current = gateways.map((_, at) => (): ServiceHandle => {
    const gateway = gateways[at];
    if (gateway === undefined) throw new Error('there is no such gateway');
    return gateway;
  });
  // in waves, so that every kill meets users that are new
  const waves = Array.from({ length: KILLS + 1 }, (_, wave) =>
    Array.from({ length: POSTS }, (_post, at) => at).filter(
      (at) => ((at * 7) % USERS) % (KILLS + 1) === wave,
    ),
  );
  const answers: Promise<Answer>[] = [];
  for (const [at, wave] of waves.entries()) {
    for (const post of wave) answers.push(insist((post * 7) % USERS, current, post));
    if (at === KILLS) break;
    await after(random.below(60));
    const victim = at % 2;
    if (at % 3 === 1) {
      await projector.kill();
      projector = await stack.spawnService('projector-deposits');
    }
    await gateways[victim]?.kill();
    const restarted = await stack.spawnService('deposit-gateway', settings);
    gateways[victim] = restarted;
    await restarted.ready();
  }
  const given = await Promise.all(answers);
  expect(given).toHaveLength(POSTS);

  const addresses = new Map<number, Set<string>>();
  for (const { user, address } of given)
    addresses.set(user, (addresses.get(user) ?? new Set()).add(address));
  const each = [...addresses.values()].flatMap((own) => Array.from(own));
  expect([addresses.size, each.length]).toEqual([USERS, USERS]);
  const dense = Array.from({ length: USERS }, (_, index) =>
    toTronAddress(depositKey().addressAt(index)),
  );
  expect(each.toSorted()).toEqual(dense.toSorted());

  // by the log alone, as an auditor would
  const records = await readAll(testKafka(stack.addresses), DEPOSIT_ADDRESSES.name);
  const codec = await openCodec(stack.addresses.registry_url, [DEPOSIT_ADDRESSES]);
  await codec.learn(records.map(({ value }) => value));
  const book = new AddressBook();
  for (const { value } of records) {
    const event = codec.decode(value);
    if (isDepositAddressEvent(event)) book.apply(event, book.end, hashOfValue(value));
  }
  expect([book.size, book.scheme?.key]).toEqual([USERS, undefined]);
  for (const { user, address } of given)
    expect(address).toBe(toTronAddress(book.addressOf(accountAt(user)) ?? Buffer.alloc(20)));
  const logs = gateways.map((gateway) => gateway.log()).join('');
  expect(logs).not.toContain(SECRET);
  expect(logs).not.toMatch(/eyJ/);
});

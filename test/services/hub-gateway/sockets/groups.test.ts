import { buildSchema, parse } from 'graphql';
import { expect, test } from 'vitest';
import { Balances } from '../../../../services/hub-gateway/graphql/balances.ts';
import { Builders } from '../../../../services/hub-gateway/graphql/builders.ts';
import {
  Groups,
  type Body,
  type Entrance,
  type Operation,
} from '../../../../services/hub-gateway/sockets/groups.ts';
import type { Hub, HubContext } from '../../../../services/hub-gateway/hub.ts';
import { SignIns } from '../../../../services/hub-gateway/graphql/sign-ins.ts';
import { silentLog } from '../../../support/kafka.ts';

const reader = { rows: () => Promise.resolve([]) };
const settings = {
  chain_id: 1,
  jwt_secret: 'x'.repeat(32),
  jwt_expiration_hours: 1,
  auth_single_use: false,
};
const hub: Hub = {
  reader,
  chain: {
    info: { chainId: '1', isTestnet: true, txFee: '1', totalSupply: '1', mintAuthority: '0x' },
  },
  node: { submit: () => Promise.resolve({ code: 'accepted', json: {} }) },
  balances: new Balances(reader),
  builders: new Builders({
    reader,
    node: { nextNonce: () => Promise.resolve(0) },
    chain_id: 1,
    request_referrer: null,
    offer_referrer: null,
  }),
  sign_ins: new SignIns(settings, () => 0),
  chain_id: 1,
  list_rows_max: 10,
};

const DOCUMENT: Operation = {
  document: parse('subscription { value }'),
  operationName: undefined,
  variables: {},
};

interface World {
  readonly groups: Groups;
  /** what is read; an error is thrown */
  value: string | Error;
  readings: number;
  /** readings wait for it */
  gate: Promise<void>;
}

function world(): World {
  const schema = buildSchema('type Query { value: String! } type Subscription { value: String! }');
  const groups = new Groups({
    schema,
    hub,
    formatting: { log: silentLog(), suggestions: true },
    subscription_bytes_max: 100,
  });
  const state: World = { groups, value: '1', readings: 0, gate: Promise.resolve() };
  const resolve = async (
    _root: unknown,
    _args: unknown,
    { waitFor }: HubContext,
  ): Promise<string> => {
    waitFor?.({ of: 'market', isTouchedBy: (key) => key === 'ours' });
    state.readings++;
    const { value } = state;
    await state.gate;
    if (value instanceof Error) throw value;
    return value;
  };
  Object.assign(schema.getSubscriptionType()?.getFields()['value'] ?? {}, { resolve });
  return state;
}

async function entrance(groups: Groups, key = 'a'): Promise<Entrance> {
  const entered = await groups.enter(key, DOCUMENT);
  if (!('join' in entered)) throw new Error(JSON.stringify(entered.errors));
  return entered;
}

class Collecting {
  readonly bodies: string[] = [];
  deliver(body: Body): void {
    this.bodies.push(body.text);
  }
}

const body = (value: string): string => `{"data":{"value":"${value}"}}`;

test('all that ask the same are read once, told at once, and told again only of another result', async () => {
  const state = world();
  const members = [new Collecting(), new Collecting(), new Collecting()];
  const entered = await Promise.all(members.map(() => entrance(state.groups)));
  for (const [at, each] of entered.entries()) each.join(members[at] ?? new Collecting());
  expect([state.readings, members.map(({ bodies }) => bodies)]).toEqual([
    1,
    [[body('1')], [body('1')], [body('1')]],
  ]);
  state.groups.tell('market', ['theirs']);
  state.groups.tell('accounts', undefined);
  expect(state.readings).toBe(1);
  state.groups.tell('market', ['theirs', 'ours']);
  await expect.poll(() => state.readings).toBe(2);
  state.value = '2';
  state.groups.tell('market', undefined);
  for (const { bodies } of members) await expect.poll(() => bodies).toEqual([body('1'), body('2')]);
});

test('news that come while it is read are one reading more, however many', async () => {
  const state = world();
  const member = new Collecting();
  (await entrance(state.groups)).join(member);
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  state.groups.tell('market', ['ours']);
  await expect.poll(() => state.readings).toBe(2);
  for (let more = 0; more < 100; more++) state.groups.tell('market', ['ours']);
  state.value = '2';
  gate.resolve();
  await expect.poll(() => member.bodies).toEqual([body('1'), body('2')]);
  expect(state.readings).toBe(3);
});

test('news from before the first result is known are not lost', async () => {
  const state = world();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const entering = entrance(state.groups);
  state.groups.tell('market', ['anything']);
  state.value = '2';
  gate.resolve();
  const member = new Collecting();
  (await entering).join(member);
  await expect.poll(() => member.bodies.at(-1)).toBe(body('2'));
});

test('what cannot be read at first is told and forgotten; what cannot be read later is read again when asked to', async () => {
  const state = world();
  state.value = new Error('away');
  expect(await state.groups.enter('a', DOCUMENT)).toHaveProperty('errors');
  expect(state.groups.size).toBe(0);
  state.value = '1';
  const member = new Collecting();
  (await entrance(state.groups)).join(member);
  state.value = new Error('away');
  state.groups.tell('market', ['ours']);
  await expect.poll(() => state.readings).toBe(3);
  state.value = '2';
  await expect
    .poll(() => {
      state.groups.retry();
      return member.bodies;
    })
    .toEqual([body('1'), body('2')]);
});

test('many members are told in parts: others have their turn, who leaves meanwhile is told nothing, who comes is told once', async () => {
  const state = world();
  const order: string[] = [];
  const members = Array.from({ length: 600 }, () => new Collecting());
  const entered: Entrance[] = [];
  for (const member of members) {
    const each = await entrance(state.groups);
    each.join(member);
    entered.push(each);
  }
  const [late, lateMember] = [await entrance(state.groups), new Collecting()];
  const first = await entrance(state.groups);
  first.join({
    deliver: () => {
      order.push('first');
    },
  });
  const last = members.at(-1);
  const begun = members.at(0);
  if (last === undefined || begun === undefined) throw new Error('there are members');
  begun.deliver = ({ text }: Body): void => {
    begun.bodies.push(text);
    setImmediate(() => {
      order.push('somebody else');
      entered.at(-1)?.leave(last);
      late.join(lateMember);
    });
  };
  state.value = '2';
  state.groups.tell('market', ['ours']);
  await expect.poll(() => order).toEqual(['first', 'somebody else', 'first']);
  expect([last.bodies, lateMember.bodies]).toEqual([[body('1')], [body('2')]]);
  expect(
    members.slice(0, -1).every(({ bodies }) => bodies.join() === [body('1'), body('2')].join()),
  ).toBe(true);
});

test('so many characters are kept in all: then no group is added, until one of them has gone', async () => {
  const state = world();
  state.value = 'x'.repeat(50);
  const member = new Collecting();
  const first = await entrance(state.groups);
  first.join(member);
  expect(await state.groups.enter('b', DOCUMENT)).toMatchObject({
    errors: [{ extensions: { code: 'RATE_LIMITED' } }],
  });
  expect(state.groups.size).toBe(1);
  first.leave(member);
  (await entrance(state.groups, 'b')).join(member);
  state.value = 'y';
  state.groups.tell('market', ['ours']);
  await expect.poll(() => member.bodies.at(-1)).toBe(body('y'));
  await entrance(state.groups, 'c');
  expect(state.groups.size).toBe(2);
});

test('a group lasts as long as somebody is in it, or about to be', async () => {
  const state = world();
  const [first, second] = [new Collecting(), new Collecting()];
  const [one, two] = await Promise.all([entrance(state.groups), entrance(state.groups)]);
  one.join(first);
  one.leave(first);
  expect(state.groups.size).toBe(1);
  two.join(second);
  state.value = '2';
  state.groups.tell('market', ['ours']);
  await expect.poll(() => second.bodies).toEqual([body('1'), body('2')]);
  expect(first.bodies).toEqual([body('1')]);
  two.leave(second);
  expect(state.groups.size).toBe(0);
  const never = await entrance(state.groups, 'b');
  never.leave(new Collecting());
  expect(state.groups.size).toBe(0);
});

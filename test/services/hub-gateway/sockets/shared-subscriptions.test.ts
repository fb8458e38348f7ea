import { buildSchema, parse } from 'graphql';
import { expect, test } from 'vitest';
import { SignIns } from '../../../../services/hub-gateway/graphql/authentication.ts';
import {
  Balances,
  type Hub,
  type HubContext,
} from '../../../../services/hub-gateway/graphql/context.ts';
import {
  SharedSubscriptions,
  type Operation,
  type Payload,
  type Subscription,
} from '../../../../services/hub-gateway/sockets/shared-subscriptions.ts';
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
  node: {
    nextNonce: () => Promise.resolve(0),
    submit: () => Promise.resolve({ code: 'accepted', json: {} }),
  },
  balances: new Balances(reader),
  sign_ins: new SignIns(settings, () => 0),
  chain_id: 1,
  request_referrer: null,
  offer_referrer: null,
  list_rows_max: 10,
};

const OPERATION: Operation = {
  document: parse('subscription { value }'),
  operationName: undefined,
  variables: {},
};

interface World {
  readonly subscriptions: SharedSubscriptions;
  /** the result; an error is thrown */
  value: string | Error;
  executions: number;
  /** executions wait for it */
  gate: Promise<void>;
}

function world(): World {
  const schema = buildSchema('type Query { value: String! } type Subscription { value: String! }');
  const subscriptions = new SharedSubscriptions({
    schema,
    hub,
    formatting: { log: silentLog(), suggestions: true },
    subscription_bytes_max: 100,
  });
  const state: World = { subscriptions, value: '1', executions: 0, gate: Promise.resolve() };
  const resolve = async (
    _root: unknown,
    _args: unknown,
    { dependsOn }: HubContext,
  ): Promise<string> => {
    dependsOn?.({ model: 'market', isTouchedBy: (key) => key === 'ours' });
    state.executions++;
    const { value } = state;
    await state.gate;
    if (value instanceof Error) throw value;
    return value;
  };
  Object.assign(schema.getSubscriptionType()?.getFields()['value'] ?? {}, { resolve });
  return state;
}

async function open({ subscriptions }: World, key = 'a'): Promise<Subscription> {
  const opened = await subscriptions.open(key, OPERATION);
  if (!('start' in opened)) throw new Error(JSON.stringify(opened.errors));
  return opened;
}

class Collector {
  readonly payloads: string[] = [];
  deliver({ text }: Payload): void {
    this.payloads.push(text);
  }
}

const payload = (value: string): string => `{"data":{"value":"${value}"}}`;

test('subscribers of one operation share an execution, and get a further result only when it differs', async () => {
  const state = world();
  const subscribers = [new Collector(), new Collector(), new Collector()];
  const entered = await Promise.all(subscribers.map(() => open(state)));
  for (const [at, each] of entered.entries()) each.start(subscribers[at] ?? new Collector());
  expect([state.executions, subscribers.map(({ payloads }) => payloads)]).toEqual([
    1,
    [[payload('1')], [payload('1')], [payload('1')]],
  ]);
  state.subscriptions.notify('market', ['theirs']);
  state.subscriptions.notify('accounts', undefined);
  expect(state.executions).toBe(1);
  state.subscriptions.notify('market', ['theirs', 'ours']);
  await expect.poll(() => state.executions).toBe(2);
  state.value = '2';
  state.subscriptions.notify('market', undefined);
  for (const { payloads } of subscribers)
    await expect.poll(() => payloads).toEqual([payload('1'), payload('2')]);
});

test('changes during an execution cause one more execution', async () => {
  const state = world();
  const subscriber = new Collector();
  (await open(state)).start(subscriber);
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => state.executions).toBe(2);
  for (let more = 0; more < 100; more++) state.subscriptions.notify('market', ['ours']);
  state.value = '2';
  gate.resolve();
  await expect.poll(() => subscriber.payloads).toEqual([payload('1'), payload('2')]);
  expect(state.executions).toBe(3);
});

test('a change before the first result causes another execution', async () => {
  const state = world();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const entering = open(state);
  state.subscriptions.notify('market', ['anything']);
  state.value = '2';
  gate.resolve();
  const subscriber = new Collector();
  (await entering).start(subscriber);
  await expect.poll(() => subscriber.payloads.at(-1)).toBe(payload('2'));
});

test('a failed first execution is reported and not cached; a failed later one is retried', async () => {
  const state = world();
  state.value = new Error('away');
  expect(await state.subscriptions.open('a', OPERATION)).toHaveProperty('errors');
  expect(state.subscriptions.size).toBe(0);
  state.value = '1';
  const subscriber = new Collector();
  (await open(state)).start(subscriber);
  state.value = new Error('away');
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => state.executions).toBe(3);
  state.value = '2';
  await expect
    .poll(() => {
      state.subscriptions.retryFailed();
      return subscriber.payloads;
    })
    .toEqual([payload('1'), payload('2')]);
});

test('deliveries to many subscribers yield to the event loop, skip those that stopped and reach late ones once', async () => {
  const state = world();
  const order: string[] = [];
  const subscribers = Array.from({ length: 600 }, () => new Collector());
  const entered: Subscription[] = [];
  for (const subscriber of subscribers) {
    const each = await open(state);
    each.start(subscriber);
    entered.push(each);
  }
  const [late, lateSubscriber] = [await open(state), new Collector()];
  const first = await open(state);
  first.start({
    deliver: () => {
      order.push('first');
    },
  });
  const last = subscribers.at(-1);
  const begun = subscribers.at(0);
  if (last === undefined || begun === undefined) throw new Error('there are subscribers');
  begun.deliver = ({ text }: Payload): void => {
    begun.payloads.push(text);
    setImmediate(() => {
      order.push('another task');
      entered.at(-1)?.stop();
      late.start(lateSubscriber);
    });
  };
  state.value = '2';
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => order).toEqual(['first', 'another task', 'first']);
  expect([last.payloads, lateSubscriber.payloads]).toEqual([[payload('1')], [payload('2')]]);
  expect(
    subscribers
      .slice(0, -1)
      .every(({ payloads }) => payloads.join() === [payload('1'), payload('2')].join()),
  ).toBe(true);
});

test('a subscription beyond the memory limit is refused until another has ended', async () => {
  const state = world();
  state.value = 'x'.repeat(50);
  const subscriber = new Collector();
  const first = await open(state);
  first.start(subscriber);
  expect(await state.subscriptions.open('b', OPERATION)).toMatchObject({
    errors: [{ extensions: { code: 'RATE_LIMITED' } }],
  });
  expect(state.subscriptions.size).toBe(1);
  first.stop();
  (await open(state, 'b')).start(subscriber);
  state.value = 'y';
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => subscriber.payloads.at(-1)).toBe(payload('y'));
  await open(state, 'c');
  expect(state.subscriptions.size).toBe(2);
});

test('a subscription stays open until its last member leaves', async () => {
  const state = world();
  const [first, second] = [new Collector(), new Collector()];
  const [one, two] = await Promise.all([open(state), open(state)]);
  one.start(first);
  one.stop();
  expect(state.subscriptions.size).toBe(1);
  two.start(second);
  state.value = '2';
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => second.payloads).toEqual([payload('1'), payload('2')]);
  expect(first.payloads).toEqual([payload('1')]);
  two.stop();
  expect(state.subscriptions.size).toBe(0);
  const never = await open(state, 'b');
  never.stop();
  expect(state.subscriptions.size).toBe(0);
});

import { buildSchema, parse, type FormattedExecutionResult } from 'graphql';
import { expect, test } from 'vitest';
import type { Query } from '../../../../projections/contract/page.ts';
import type { HubContext } from '../../../../services/hub-gateway/graphql/context.ts';
import {
  SharedSubscriptions,
  type Holder,
  type Payload,
  type Subscription,
} from '../../../../services/hub-gateway/sockets/shared-subscriptions.ts';
import type { Operation } from '../../../../services/hub-gateway/graphql/pipeline.ts';
import { invalid } from '../../../../services/hub-gateway/graphql/errors.ts';
import { LimitReached } from '../../../../services/runtime/limits/limits.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { quietHub, quietPipeline } from '../quiet-hub.ts';

const hub = quietHub(() => Promise.resolve([['a row']]));

const CLIENT_CHARACTERS = 100;
const HOLDER: Holder = {
  client: '192.0.2.1',
  account: undefined,
  left: new AbortController().signal,
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
  /** what each execution reads; undefined: nothing */
  query: Query | undefined;
  /** executions wait for it */
  gate: Promise<void>;
}

async function world(clientCharacters = CLIENT_CHARACTERS, places = 3): Promise<World> {
  const schema = buildSchema('type Query { value: String! } type Subscription { value: String! }');
  const subscriptions = new SharedSubscriptions({
    pipeline: await quietPipeline(schema, hub),
    hub,
    subscription_bytes_max: 8 * clientCharacters,
    subscriptions_per_client_max: places,
  });
  const state: World = {
    subscriptions,
    value: '1',
    executions: 0,
    query: undefined,
    gate: Promise.resolve(),
  };
  const resolve = async (
    _root: unknown,
    _args: unknown,
    { dependsOn, lists }: HubContext,
  ): Promise<string> => {
    if (state.query !== undefined) await lists.read(() => state.query ?? ROWS);
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

async function open({ subscriptions }: World, key = 'a', holder = HOLDER): Promise<Subscription> {
  const opened = await subscriptions.open(key, OPERATION, holder);
  if (!('start' in opened)) throw new Error(JSON.stringify(opened.errors));
  return opened;
}

class Collector {
  readonly payloads: string[] = [];
  deliver({ text }: Payload): void {
    this.payloads.push(text);
  }
  refuse(errors: FormattedExecutionResult): void {
    this.payloads.push(JSON.stringify(errors));
  }
}

const payload = (value: string): string => `{"data":{"value":"${value}"}}`;

test('subscribers of one operation share an execution, and get a further result only when it differs', async () => {
  const state = await world();
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
  const state = await world();
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
  const state = await world();
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
  const state = await world();
  state.value = new Error('away');
  expect(await state.subscriptions.open('a', OPERATION, HOLDER)).toHaveProperty('errors');
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

test('a subscription that begins while a server is away has its error, then the result', async () => {
  const state = await world(1_000);
  state.value = new Fault('postgres', 'away', { retry: true });
  const subscribers = [new Collector(), new Collector()];
  for (const subscriber of subscribers) (await open(state)).start(subscriber);
  for (const { payloads } of subscribers)
    expect(payloads).toEqual([expect.stringContaining('UPSTREAM_ERROR')]);
  state.subscriptions.retryFailed();
  await expect.poll(() => state.executions).toBe(2);
  state.value = '1';
  for (const { payloads } of subscribers)
    await expect
      .poll(() => {
        state.subscriptions.retryFailed();
        return payloads.slice(1);
      })
      .toEqual([payload('1')]);
});

test('a subscription without a result has the newest reason, and ends where no retry helps', async () => {
  const state = await world(1_000);
  state.value = new Fault('postgres', 'away', { retry: true });
  const subscriber = new Collector();
  const opened = await open(state);
  opened.start(subscriber);
  for (const error of [
    new LimitReached('too many wait for their turn'),
    new Fault('redis', 'away', { retry: true }),
    invalid('the publicKey is no address'),
  ]) {
    state.value = error;
    const told = subscriber.payloads.length;
    state.subscriptions.retryFailed();
    await expect.poll(() => subscriber.payloads.length).toBe(told + 1);
  }
  expect(
    subscriber.payloads.map((text) => Object(JSON.parse(text)).errors[0].extensions.code),
  ).toEqual(['UPSTREAM_ERROR', 'RATE_LIMITED', 'UPSTREAM_ERROR', 'BAD_USER_INPUT']);
  expect(state.subscriptions.size).toBe(0);
  opened.stop();
});

test('deliveries to many subscribers yield to the event loop, skip those that stopped and reach late ones once', async () => {
  const state = await world();
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
    refuse: (errors) => {
      order.push(JSON.stringify(errors));
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

const refused = (message: string): object => ({
  errors: [
    { extensions: { code: 'RATE_LIMITED' }, message: expect.stringContaining(message) as unknown },
  ],
});

test('a subscription beyond the memory limit is refused until another has ended', async () => {
  const state = await world();
  state.value = 'x'.repeat(CLIENT_CHARACTERS - payload('').length);
  const clients = Array.from({ length: 8 }, (_, at) => ({ ...HOLDER, client: `192.0.2.${at}` }));
  const opened = [];
  for (const client of clients) opened.push(await open(state, client.client, client));
  const another = { ...HOLDER, client: 'another' };
  expect(await state.subscriptions.open('b', OPERATION, another)).toMatchObject(
    refused('too many different subscriptions are open'),
  );
  expect(state.subscriptions.size).toBe(8);
  opened[0]?.stop();
  const subscriber = new Collector();
  (await open(state, 'b', another)).start(subscriber);
  state.value = 'y';
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => subscriber.payloads.at(-1)).toBe(payload('y'));
  await open(state, 'c', clients[0]);
  expect(state.subscriptions.size).toBe(9);
});

test('one client has an eighth of the memory, also for results that others got before', async () => {
  const state = await world();
  const other = { ...HOLDER, client: '192.0.2.2' };
  state.value = 'x'.repeat(CLIENT_CHARACTERS - payload('').length);
  await open(state, 'of another', other);
  const own = await open(state);
  state.value = '1';
  for (const key of ['of another', 'small'])
    expect(await state.subscriptions.open(key, OPERATION, HOLDER)).toMatchObject(
      refused('the results of your subscriptions are too large'),
    );
  await open(state, 'small', other).catch(() => undefined);
  own.stop();
  await open(state, 'small');
  expect(state.subscriptions.size).toBe(2);
});

test.each([
  ['one client', 1, 4],
  ['all clients', 50, 32],
])(
  'subscriptions of %s that begin while a server is away have the memory of others once it is back',
  async (_who, clients, places) => {
    const state = await world(1_000, 50);
    state.value = new Fault('postgres', 'away', { retry: true });
    const opened: Subscription[] = [];
    const subscribers = Array.from({ length: 50 }, () => new Collector());
    for (const [at, subscriber] of subscribers.entries()) {
      const holder = { ...HOLDER, client: `192.0.2.${at % clients}` };
      const place = await open(state, `${at}`, holder);
      place.start(subscriber);
      opened.push(place);
    }
    state.value = 'x'.repeat(250 - payload('').length);
    state.subscriptions.retryFailed();
    await expect.poll(() => subscribers.every(({ payloads }) => payloads.length === 2)).toBe(true);
    const ends = subscribers.map(({ payloads }) => payloads.at(-1) ?? '');
    expect(ends.filter((end) => end.includes('xxx')).length).toBeLessThanOrEqual(places);
    expect(ends.filter((end) => end.includes('xxx')).length).toBe(state.subscriptions.size);
    expect(state.subscriptions.size).toBeGreaterThan(0);
    for (const each of opened) each.stop();
    expect(state.subscriptions.size).toBe(0);
  },
);

test('a client has so many different subscriptions, an account as many, and places in them at will', async () => {
  const state = await world();
  const account = `0x${'ab'.repeat(20)}`;
  // an account has them at all its addresses together
  const signedIn = [
    { ...HOLDER, account },
    { ...HOLDER, client: '192.0.2.2', account },
  ];
  for (const [holder, same] of [[HOLDER, HOLDER], signedIn] as const) {
    const opened = await Promise.all(['a', 'b', 'c'].map((key) => open(state, key, holder)));
    expect(await state.subscriptions.open('d', OPERATION, same)).toMatchObject(
      refused('at most 3 different subscriptions'),
    );
    await open(state, 'a', same);
    opened[1]?.stop();
    await open(state, 'd', same);
  }
});

/** A client rests long after a long turn. */
const SHORT_TURN = { interval: 1 };
const ROWS: Query = { name: 'rows', text: 'SELECT', values: [1] };

test('a subscription stays open until its last member leaves', async () => {
  const state = await world();
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

test('a subscription that is stopped while it waits for its turn is not executed again', async () => {
  const state = await world();
  state.query = ROWS;
  await open(state, 'first');
  const stopped = await open(state, 'stopped');
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  state.subscriptions.notify('market', undefined);
  await expect.poll(() => state.executions, SHORT_TURN).toBe(3);
  stopped.stop();
  gate.resolve();
  await open(state, 'next');
  expect(state.executions).toBe(4);
});

test('a socket that closes before the first result leaves its subscription', async () => {
  const state = await world();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const left = new AbortController();
  const opening = state.subscriptions.open('a', OPERATION, { ...HOLDER, left: left.signal });
  expect(state.subscriptions.size).toBe(1);
  left.abort();
  expect(state.subscriptions.size).toBe(0);
  gate.resolve();
  expect(await opening).toMatchObject(refused('the socket is closed'));
  await open(state, 'a');
  expect(state.subscriptions.size).toBe(1);
});

test('a client that leaves before the first result takes nothing from those that wait for it', async () => {
  const state = await world();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const left = new AbortController();
  const leaving = state.subscriptions.open('a', OPERATION, { ...HOLDER, left: left.signal });
  const staying = open(state, 'a', { ...HOLDER, client: '192.0.2.2' });
  left.abort();
  gate.resolve();
  expect(await leaving).toMatchObject(refused('the socket is closed'));
  const collector = new Collector();
  (await staying).start(collector);
  state.value = '2';
  state.subscriptions.notify('market', ['ours']);
  await expect.poll(() => collector.payloads).toEqual([payload('1'), payload('2')]);
});

test('results that nobody waited for take no memory', async () => {
  const state = await world();
  state.value = 'x'.repeat(CLIENT_CHARACTERS - payload('').length);
  for (let at = 0; at < 20; at++) {
    const left = new AbortController();
    const opening = state.subscriptions.open(`${at}`, OPERATION, { ...HOLDER, left: left.signal });
    left.abort();
    await opening;
  }
  await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map((at) =>
      open(state, 'all', { ...HOLDER, client: `192.0.2.${at}` }),
    ),
  );
  expect(state.subscriptions.size).toBe(1);
});

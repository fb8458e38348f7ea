import { setImmediate as turn } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { expect, test } from 'vitest';
import { Refused } from '../../../../services/hub-gateway/graphql/errors.ts';
import { BackpressuredSocket } from '../../../../services/hub-gateway/sockets/backpressured-socket.ts';
import { Session, socketProtocol } from '../../../../services/hub-gateway/sockets/protocol.ts';
import { SharedSubscriptions } from '../../../../services/hub-gateway/sockets/shared-subscriptions.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { silentLog } from '../../../support/kafka.ts';
import { SECRET } from '../../../support/tokens.ts';
import { quietHub, quietPipeline } from '../quiet-hub.ts';

const MIB = 1_024 * 1_024;
/** Becomes text in four pieces. */
const LIST = Array.from({ length: 1_000 }, (_, at) => `row ${at}`.padEnd(300));

const schema = buildSchema(
  'type Query { list: [String!] bad: String } type Subscription { value: String! }',
);
/** of `value`, each once; then `a` */
const answers: Error[] = [];
const resolvers = [
  [schema.getQueryType(), 'list', () => LIST],
  [
    schema.getQueryType(),
    'bad',
    () => {
      throw new Refused('NOT_FOUND', 'no');
    },
  ],
  [
    schema.getSubscriptionType(),
    'value',
    () => {
      const answer = answers.shift() ?? 'a';
      if (answer instanceof Error) throw answer;
      return answer;
    },
  ],
] as const;
for (const [type, field, resolve] of resolvers)
  Object.assign(type?.getFields()[field] ?? {}, { resolve });

interface Message {
  readonly id?: string;
  readonly type: string;
  readonly payload?: unknown;
}

/** A socket that writes what it is given when the test says so. */
class World {
  readonly written: Message[] = [];
  /** codes */
  readonly closed: unknown[] = [];
  isWriting = true;
  subscriptions: SharedSubscriptions | undefined;
  bufferedAmount = 0;
  readonly OPEN = 1;
  readonly readyState = 1;
  #text = '';
  readonly #waiting: (() => void)[] = [];
  #receive: (text: string) => Promise<void> = () => Promise.resolve();

  static async open({ places = 100, wait_ms: waitMs = 0 } = {}): Promise<World> {
    const world = new World();
    const hub = quietHub(() => Promise.resolve([]));
    const settings = {
      schema,
      hub,
      pipeline: await quietPipeline(schema, hub),
      formatting: { log: silentLog(), suggestions: true },
      subscription_bytes_max: MIB,
      subscriptions_per_client_max: places,
      socket_operations_max: 20,
      socket_init_ms: 0,
      secrets: { jwt_secret: SECRET },
      now: () => 0,
    };
    const subscriptions = new SharedSubscriptions(settings);
    world.subscriptions = subscriptions;
    const protocol = socketProtocol({ ...settings, subscriptions });
    const limits = { socket_buffer_bytes_max: MIB, socket_slow_ms: 1_000 };
    const session = new Session({
      socket: new BackpressuredSocket(world, world, limits, () => 0),
      client: '192.0.2.1',
      wait: () => waitMs,
      left: new AbortController().signal,
      elsewhere: [],
    });
    protocol.opened(
      {
        protocol: 'graphql-transport-ws',
        send: (text) => new Promise((resolve) => world.send(text, resolve)),
        close: (code) => void world.closed.push(code),
        onMessage: (receive) => (world.#receive = receive),
      },
      session,
    );
    await world.receive({ type: 'connection_init' });
    return world;
  }

  receive(message: Message): Promise<void> {
    return this.#receive(JSON.stringify(message));
  }

  subscribe(query: string): Promise<void> {
    return this.receive({ id: '1', type: 'subscribe', payload: { query } });
  }

  send(data: unknown, options?: unknown, written?: () => void): void {
    this.#text += String(data);
    if (Object(options).fin === false) return;
    this.written.push(JSON.parse(this.#text));
    this.#text = '';
    const done = typeof options === 'function' ? () => options() : (written ?? (() => undefined));
    if (this.isWriting) done();
    else this.#waiting.push(done);
  }

  /** All that waits is written. */
  drain(): void {
    this.isWriting = true;
    for (const done of this.#waiting.splice(0)) done();
  }

  readonly cork = ignore;
  readonly uncork = ignore;
  readonly close = ignore;
  readonly pause = ignore;
  readonly resume = ignore;
}

function ignore(): void {
  // all of a message is there at once
}

const COMPLETE: Message = { id: '1', type: 'complete' };
const next = (payload: unknown): Message => ({ id: '1', type: 'next', payload });

test.each([
  ['{ list }', { data: { list: LIST } }],
  [
    '{ bad list }',
    {
      errors: [
        {
          message: 'no',
          locations: [{ line: 1, column: 3 }],
          path: ['bad'],
          extensions: { code: 'NOT_FOUND' },
        },
      ],
      data: { bad: null, list: LIST },
    },
  ],
])('the long result of %s becomes text in turns of the event loop', async (query, result) => {
  const world = await World.open();
  const answered = world.subscribe(query);
  for (let turns = 0; turns < 4; turns++) {
    expect(world.written.map(({ type }) => type)).toEqual(['connection_ack']);
    await turn();
  }
  await answered;
  expect(world.written.slice(1)).toEqual([next(result), COMPLETE]);
});

test('a query completes once its result is written', async () => {
  const world = await World.open();
  world.isWriting = false;
  const answered = world.subscribe('{ list }');
  await expect.poll(() => world.written.length).toBe(2);
  await turn();
  expect(world.written.length).toBe(2);
  world.drain();
  await answered;
  expect(world.written[2]).toEqual(COMPLETE);
});

test.each(['subscription { value }', '{ list }'])(
  'the id of %s that its client has completed is free at once',
  async (query) => {
    const world = await World.open();
    world.isWriting = false;
    void world.subscribe(query);
    await expect.poll(() => world.written.length).toBe(2);
    void world.receive(COMPLETE);
    const again = world.subscribe('{ __typename }');
    world.drain();
    await again;
    expect(world.written.slice(2)).toEqual([next({ data: { __typename: 'Query' } }), COMPLETE]);
  },
);

test('two operations of one id that come at once close the socket, and one is executed', async () => {
  const world = await World.open();
  void world.subscribe('subscription { value }');
  void world.subscribe('subscription { value }');
  await expect.poll(() => world.closed).toEqual([4409]);
  await expect.poll(() => world.written.length).toBe(2);
  expect(world.subscriptions?.size).toBe(1);
});

test('a subscription ends with the errors of a server that came back and refuses it', async () => {
  const world = await World.open();
  answers.push(new Fault('postgres', 'away', { retry: true }), new Refused('NOT_FOUND', 'no'));
  void world.subscribe('subscription { value }');
  await expect.poll(() => world.written.length).toBe(2);
  world.subscriptions?.retryFailed();
  await expect.poll(() => world.written.length).toBe(4);
  expect(world.written.slice(1)).toMatchObject([
    next({ errors: [{ extensions: { code: 'UPSTREAM_ERROR' } }] }),
    next({ errors: [{ extensions: { code: 'NOT_FOUND' } }] }),
    COMPLETE,
  ]);
});

test.each([
  [{ places: 1 }, 'at most 1 different subscriptions at once: complete others first', {}],
  [{ wait_ms: 1_500 }, 'too many operations: try again in 2 s', { retryAfter: 2 }],
])('a subscription beyond a limit ends with an error message: %o', async (limit, message, when) => {
  const world = await World.open(limit);
  const payload = { query: 'subscription { other: value }' };
  void world.receive({ id: '0', type: 'subscribe', payload });
  await expect.poll(() => world.written.length).toBe(2);
  void world.subscribe('subscription { value }');
  await expect.poll(() => world.written.length).toBe(3);
  await turn();
  const errors = [{ message, extensions: { code: 'RATE_LIMITED', ...when } }];
  expect(world.written.slice(2)).toEqual([{ id: '1', type: 'error', payload: errors }]);
});

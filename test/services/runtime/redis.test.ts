import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLog } from '../../../services/runtime/process/log.ts';
import {
  openNotificationSubscriber,
  type NotificationSubscriber,
} from '../../../services/runtime/redis.ts';

const log = openLog({ service: 'test', level: 'info', destination: { write: () => undefined } });

/** A server that speaks RESP3 as far as a subscriber needs it; `answer` gets each SUBSCRIBE. */
class FakeRedis {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));
  /** so far */
  connections = 0;
  answer = (socket: Socket, channel: string): void => {
    socket.write(subscribed(channel));
  };

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port }: AddressInfo = JSON.parse(JSON.stringify(this.#server.address()));
    return `redis://127.0.0.1:${port}`;
  }

  get open_connections(): number {
    return this.#sockets.size;
  }

  publish(channel: string, message: string): void {
    const words = ['message', channel, message];
    const text = words.map((word) => `$${word.length}\r\n${word}\r\n`).join('');
    for (const socket of this.#sockets) socket.write(`>3\r\n${text}`);
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #serve(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n\$)/)) {
        const [name = '', ...words] = command
          .split('\r\n')
          .filter((_, at) => at > 0 && at % 2 === 0);
        if (name.toLowerCase() === 'info') socket.write('$9\r\nloading:0\r\n');
        else if (name.toLowerCase() === 'subscribe')
          for (const channel of words) this.answer(socket, channel);
        else socket.write('+OK\r\n');
      }
    });
  }
}

function subscribed(channel: string): string {
  return `>3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:1\r\n`;
}

let redis: FakeRedis;
let url: string;
const heard: string[] = [];
beforeEach(async () => {
  redis = new FakeRedis();
  url = await redis.open();
  heard.length = 0;
});
afterEach(() => redis.close());

function open(): NotificationSubscriber {
  return openNotificationSubscriber(
    { redis_url: url },
    'test',
    ['one', 'two'],
    {
      onNotification: (channel, message) => heard.push(`${channel}=${message}`),
      onSubscribed: () => heard.push('subscribed'),
    },
    log,
  );
}

test.each<[string, (socket: Socket) => void]>([
  ['refused', (socket) => socket.write('-NOPERM this user has no permissions\r\n')],
  ['lost with its connection', (socket) => socket.destroy()],
])('a SUBSCRIBE that is %s is tried again on a new connection', async (_how, fail) => {
  redis.answer = (socket, channel) => {
    if (redis.connections <= 2 && channel === 'two') fail(socket);
    else socket.write(subscribed(channel));
  };
  const subscriber = open();
  await expect.poll(() => heard).toEqual(['subscribed']);
  expect(redis.connections).toBe(3);
  await subscriber.close();
});

test('each connection is subscribed anew, said once, and each notification given once', async () => {
  const subscriber = open();
  for (let connection = 1; connection <= 3; connection++) {
    await expect.poll(() => heard.length).toBe(2 * connection - 1);
    redis.publish('two', `text ${connection}`);
    await expect.poll(() => heard.slice(-2)).toEqual(['subscribed', `two=text ${connection}`]);
    redis.cut();
  }
  await subscriber.close();
});

test('notifications of a channel come in their order', async () => {
  const texts = Array.from({ length: 100 }, (_, at) => `${at}`);
  const subscriber = open();
  await expect.poll(() => heard).toEqual(['subscribed']);
  for (const text of texts) redis.publish('one', text);
  await expect.poll(() => heard.length).toBe(101);
  expect(heard.slice(1)).toEqual(texts.map((text) => `one=${text}`));
  await subscriber.close();
});

test('a subscriber is closed while it waits for the answer to SUBSCRIBE', async () => {
  const asked: string[] = [];
  redis.answer = (_, channel) => asked.push(channel);
  const subscriber = open();
  await expect.poll(() => asked).toEqual(['one', 'two']);
  await subscriber.close();
  redis.cut();
  expect(heard).toEqual([]);
  expect(redis.connections).toBe(1);
});

test('a closed subscriber holds no connection and opens none', async () => {
  const subscriber = open();
  await expect.poll(() => heard).toEqual(['subscribed']);
  await subscriber.close();
  await expect.poll(() => redis.open_connections).toBe(0);
  expect(redis.connections).toBe(1);
});

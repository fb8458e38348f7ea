import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openLog } from '../../../services/runtime/process/log.ts';
import { openNotificationSubscriber } from '../../../services/runtime/redis.ts';

const log = openLog({ service: 'test', level: 'info', destination: { write: () => undefined } });

/** A server that speaks RESP3 as far as a subscriber needs it; `subscribed` gives its replies. */
async function fakeRedis(
  subscribed: (channels: readonly string[]) => string,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n\$)/)) {
        const [name = '', ...words] = command
          .split('\r\n')
          .filter((_, at) => at > 0 && at % 2 === 0);
        if (name.toLowerCase() === 'info') socket.write('$9\r\nloading:0\r\n');
        else if (name.toLowerCase() === 'subscribe') socket.write(subscribed(words));
        else socket.write('+OK\r\n');
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  return { url: `redis://127.0.0.1:${port}`, close: () => server.close() };
}

test('a refused SUBSCRIBE is tried again on a new connection and ends no process', async () => {
  let refusals = 2;
  const redis = await fakeRedis((channels) => {
    if (refusals-- > 0) return '-NOPERM this user has no permissions\r\n';
    const replies = channels.map(
      (name, at) => `>3\r\n$9\r\nsubscribe\r\n$${name.length}\r\n${name}\r\n:${at + 1}\r\n`,
    );
    return `${replies.join('')}>3\r\n$7\r\nmessage\r\n$3\r\none\r\n$4\r\ntext\r\n`;
  });
  const heard: string[] = [];
  const subscriber = openNotificationSubscriber(
    { redis_url: redis.url, client_name: 'test' },
    ['one', 'two'],
    {
      onNotification: (channel, message) => heard.push(`${channel}=${message}`),
      onSubscribed: () => heard.push('subscribed'),
    },
    log,
  );
  await expect.poll(() => heard.toSorted()).toEqual(['one=text', 'subscribed']);
  await subscriber.close();
  redis.close();
});

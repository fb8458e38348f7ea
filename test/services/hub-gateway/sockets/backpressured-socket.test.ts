import { expect, test } from 'vitest';
import { BackpressuredSocket } from '../../../../services/hub-gateway/sockets/backpressured-socket.ts';
import { Payload } from '../../../../services/hub-gateway/sockets/shared-subscriptions.ts';

class FakeSocket {
  bufferedAmount = 0;
  readonly OPEN = 1;
  readyState = 1 as const;
  readonly sent: string[] = [];
  closed: number | undefined;
  paused = false;
  corked = 0;
  /** what waits for the last message */
  written: () => void = () => undefined;
  #piece = '';
  send(data: unknown, options?: unknown, written?: () => void): void {
    const done = typeof options === 'function' ? () => options() : written;
    if (done !== undefined) this.written = done;
    this.#piece += String(data);
    if (
      typeof options === 'object' &&
      options !== null &&
      'fin' in options &&
      options.fin === false
    )
      return;
    this.sent.push(this.#piece);
    this.#piece = '';
  }
  close(code?: number): void {
    this.closed = code;
  }
  cork(): void {
    this.corked++;
  }
  uncork(): void {
    this.corked--;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
}

const PREFIX = '{"id":"1","type":"next","payload":';

function openSocket(): {
  readonly socket: FakeSocket;
  readonly outgoing: BackpressuredSocket;
  readonly clock: { now: number };
} {
  const socket = new FakeSocket();
  const clock = { now: 0 };
  return {
    socket,
    clock,
    outgoing: new BackpressuredSocket(
      socket,
      socket,
      { socket_buffer_bytes_max: 100, socket_slow_ms: 1_000 },
      () => clock.now,
    ),
  };
}

test('a result is one message, in one frame or in fragments', () => {
  const { socket, outgoing } = openSocket();
  for (const text of ['{"data":1}', JSON.stringify({ data: 'é'.repeat(10_000) })]) {
    outgoing.deliver(PREFIX, new Payload(text), () => undefined);
    expect([socket.sent.at(-1), socket.corked]).toEqual([`${PREFIX}${text}}`, 0]);
  }
});

test('a result that must arrive is sent to a socket that is behind, which waits until it is written', async () => {
  const { socket, outgoing } = openSocket();
  socket.bufferedAmount = 101;
  outgoing.received();
  for (const text of ['1', `"${'a'.repeat(10_000)}"`]) {
    const sent = outgoing.send(PREFIX, text);
    expect(socket.sent.at(-1)).toBe(`${PREFIX}${text}}`);
    socket.written();
    await sent;
  }
});

test('a socket that is behind gets the latest result once it has drained to half its buffer', () => {
  const { socket, outgoing } = openSocket();
  let latest = new Payload('1');
  const deliver = (text: string): void => {
    latest = new Payload(text);
    outgoing.deliver(PREFIX, latest, () => latest);
  };
  deliver('1');
  socket.bufferedAmount = 101;
  for (const text of ['2', '3', '4']) deliver(text);
  outgoing.received();
  expect([socket.sent, outgoing.is_behind, socket.paused]).toEqual([[`${PREFIX}1}`], true, true]);
  socket.bufferedAmount = 60;
  outgoing.check();
  expect(socket.sent.length).toBe(1);
  socket.bufferedAmount = 50;
  outgoing.check();
  expect([socket.sent, outgoing.is_behind, socket.paused]).toEqual([
    [`${PREFIX}1}`, `${PREFIX}4}`],
    false,
    false,
  ]);
  deliver('5');
  expect(socket.sent.at(-1)).toBe(`${PREFIX}5}`);
});

test('a subscription that ended while its socket was behind gets nothing', () => {
  const { socket, outgoing } = openSocket();
  socket.bufferedAmount = 101;
  outgoing.deliver(PREFIX, new Payload('1'), () => new Payload('2'));
  outgoing.forget(PREFIX);
  socket.bufferedAmount = 0;
  outgoing.check();
  expect(socket.sent).toEqual([]);
});

test('a socket that stays behind for too long is closed with 1013', () => {
  const { socket, outgoing, clock } = openSocket();
  socket.bufferedAmount = 101;
  outgoing.deliver(PREFIX, new Payload('1'), () => undefined);
  clock.now = 999;
  outgoing.check();
  expect(socket.closed).toBeUndefined();
  clock.now = 1_000;
  outgoing.check();
  // it is read until its close frame comes, whatever comes before
  outgoing.received();
  expect([socket.closed, socket.paused]).toEqual([1013, false]);
});

test('a socket that stays behind with results of queries is closed as well', () => {
  const { socket, outgoing, clock } = openSocket();
  socket.bufferedAmount = 101;
  outgoing.check();
  expect([outgoing.is_behind, socket.closed]).toEqual([true, undefined]);
  clock.now = 1_000;
  expect(outgoing.check()).toBe(true);
  expect(socket.closed).toBe(1013);
});

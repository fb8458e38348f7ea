import { expect, test } from 'vitest';
import { Body } from '../../../../services/hub-gateway/sockets/groups.ts';
import { Outlet } from '../../../../services/hub-gateway/sockets/outlet.ts';

class FakeSocket {
  bufferedAmount = 0;
  readonly OPEN = 1;
  readyState = 1 as const;
  readonly sent: string[] = [];
  closed: number | undefined;
  paused = false;
  corked = 0;
  #piece = '';
  send(data: unknown, options: unknown = {}): void {
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

const OPENING = '{"id":"1","type":"next","payload":';

function outlet(): {
  readonly socket: FakeSocket;
  readonly outlet: Outlet;
  readonly clock: { now: number };
} {
  const socket = new FakeSocket();
  const clock = { now: 0 };
  return {
    socket,
    clock,
    outlet: new Outlet(
      socket,
      socket,
      { socket_buffer_bytes_max: 100, socket_slow_ms: 1_000 },
      () => clock.now,
    ),
  };
}

test('a result is one message, whether short or long', () => {
  const { socket, outlet: out } = outlet();
  for (const text of ['{"data":1}', JSON.stringify({ data: 'é'.repeat(10_000) })]) {
    out.deliver(OPENING, new Body(text), () => undefined);
    expect([socket.sent.at(-1), socket.corked]).toEqual([`${OPENING}${text}}`, 0]);
  }
});

test('one that is behind misses what comes meanwhile and gets the newest when it has drained', () => {
  const { socket, outlet: out } = outlet();
  let newest = new Body('1');
  const deliver = (text: string): void => {
    newest = new Body(text);
    out.deliver(OPENING, newest, () => newest);
  };
  deliver('1');
  socket.bufferedAmount = 101;
  for (const text of ['2', '3', '4']) deliver(text);
  out.received();
  expect([socket.sent, out.isBehind, socket.paused]).toEqual([[`${OPENING}1}`], true, true]);
  socket.bufferedAmount = 60;
  out.look();
  expect(socket.sent.length).toBe(1);
  socket.bufferedAmount = 50;
  out.look();
  expect([socket.sent, out.isBehind, socket.paused]).toEqual([
    [`${OPENING}1}`, `${OPENING}4}`],
    false,
    false,
  ]);
  deliver('5');
  expect(socket.sent.at(-1)).toBe(`${OPENING}5}`);
});

test('a subscription that has ended meanwhile gets nothing more', () => {
  const { socket, outlet: out } = outlet();
  socket.bufferedAmount = 101;
  out.deliver(OPENING, new Body('1'), () => new Body('2'));
  out.forget(OPENING);
  socket.bufferedAmount = 0;
  out.look();
  expect(socket.sent).toEqual([]);
});

test('one that stays behind for too long is closed with 1013, counted from when it fell behind', () => {
  const { socket, outlet: out, clock } = outlet();
  socket.bufferedAmount = 101;
  out.deliver(OPENING, new Body('1'), () => undefined);
  clock.now = 999;
  out.look();
  expect(socket.closed).toBeUndefined();
  clock.now = 1_000;
  out.look();
  expect(socket.closed).toBe(1013);
});

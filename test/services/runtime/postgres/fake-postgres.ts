/** A server that speaks as much of Postgres' protocol as a look at a host needs. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FakePostgres {
  /** `host:port` */
  readonly name: string;
  /** undefined: a standby */
  timeline: string | undefined;
  position: bigint;
  /** as the server says it; null: none */
  slots: string | null;
  /** Takes no connection, and has ended those that it had. */
  isAway: boolean;
  /** open connections of pools, without those that look */
  readonly sessions: () => number;
  /** Ends all connections. */
  readonly crash: () => void;
}

const LOOKING = 'looks for the primary';

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const AUTHENTICATED = message('R', int32(0));
const READY = message('Z', Buffer.from('I'));
/** Columns are text. */
const TEXT_OID = 25;

function answer(row: Readonly<Record<string, string | null>>): Buffer {
  const columns = Object.keys(row).map((name) =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(TEXT_OID),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  );
  const cells = Object.values(row).map((cell) =>
    cell === null ? int32(-1) : Buffer.concat([int32(Buffer.byteLength(cell)), Buffer.from(cell)]),
  );
  return Buffer.concat([
    message('T', Buffer.concat([int16(columns.length), ...columns])),
    message('D', Buffer.concat([int16(cells.length), ...cells])),
    message('C', Buffer.from('SELECT 1\0')),
    READY,
  ]);
}

let started = 0;

export async function fakePostgres(): Promise<FakePostgres> {
  const sockets = new Map<Socket, string>();
  const startedAt = `${1_700_000_000 + (started += 1)}`;
  const serve = (socket: Socket): void => {
    sockets.set(socket, LOOKING);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    if (fake.isAway) return void socket.destroy();
    socket.once('data', (startup: Buffer) => {
      sockets.set(socket, startup.includes(LOOKING) ? LOOKING : 'a session');
      socket.write(Buffer.concat([AUTHENTICATED, READY]));
      socket.on('data', (asked: Buffer) => {
        if (asked.toString('latin1', 0, 1) !== 'Q') return void socket.end();
        const about = {
          mark: 'on',
          started_at: startedAt,
          timeline: fake.timeline ?? null,
          position: String(fake.position),
          slots: fake.slots,
        };
        socket.write(answer(about));
      });
    });
  };
  const listening = createServer(serve).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(listening.address()));
  const fake: FakePostgres = {
    name: `127.0.0.1:${port}`,
    timeline: undefined,
    position: 0n,
    slots: null,
    isAway: false,
    sessions: () => [...sockets.values()].filter((what) => what !== LOOKING).length,
    crash: () => {
      for (const socket of sockets.keys()) socket.destroy();
    },
  };
  onTestFinished(() => {
    fake.crash();
    listening.close();
  });
  return fake;
}

/**
 * A TCP proxy on 127.0.0.1 that injects faults, on command or by a seeded schedule, and counts
 * them.
 *
 *   const proxy = await FaultProxy.open({ port: 19092, requests: 'kafka' });
 *   openKafka({ .., socket_factory: proxy.socketFactory }, log)
 *       sends every Kafka connection through the proxy, for any address in the metadata
 *   proxy.url('postgres://..@127.0.0.1:15432/clt')    the same URL through the proxy
 *   proxy.mode = 'black_hole'         for every request from now on; 'pass' ends it
 *   proxy.next('reset_after', 3)      for the next three requests
 *   proxy.resetEvery(20, seed)        for one request in twenty; resetEvery(Infinity) ends it
 *   proxy.cut()                       resets all open connections
 *   proxy.upstream = 19093            the port behind for new connections; open ones stay
 *   proxy.counts.reset_after          how often it happened
 *   proxy.requestsOf(1)               how many Fetch requests came
 *
 * A request is one Kafka frame with `requests: 'kafka'` (`api_keys` may limit faults to some kinds,
 * 0 is Produce), else one chunk that the client sends.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { SocketFactory } from '../../services/runtime/kafka/port.ts';
import { Random } from './random.ts';

export type FaultMode =
  | 'pass'
  /** the connection is reset before the request goes on */
  | 'reset_before'
  /** the request goes on; the connection is reset when its answer comes, of which nothing passes */
  | 'reset_after'
  /** the request goes on after `delay_ms` */
  | 'delay'
  /** bytes of this connection are dropped silently in both directions */
  | 'black_hole'
  /** half of the answer's first chunk passes, then the connection is reset */
  | 'truncate';

export interface FaultProxyOptions {
  /** of the server behind */
  readonly port: number;
  readonly host?: string;
  readonly requests?: 'kafka' | 'chunks';
  /** which Kafka requests may be broken; default all */
  readonly api_keys?: readonly number[];
}

export class FaultProxy {
  mode: FaultMode = 'pass';
  delay_ms = 100;
  upstream: number;
  readonly counts = {
    connections: 0,
    requests: 0,
    pass: 0,
    reset_before: 0,
    reset_after: 0,
    delay: 0,
    black_hole: 0,
    truncate: 0,
  };
  readonly #options: FaultProxyOptions;
  readonly #byKey = new Map<number, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #planned: FaultMode[] = [];
  #schedule: { readonly random: Random; readonly every: number } | undefined;

  private constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.upstream = options.port;
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  static async open(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed');
    return address.port;
  }

  /** The same address, through the proxy. */
  url(direct: string): string {
    const through = new URL(direct);
    through.host = `127.0.0.1:${this.port}`;
    return through.toString();
  }

  readonly socketFactory: SocketFactory = ({ onConnect }) =>
    connect({ host: '127.0.0.1', port: this.port, noDelay: true }, onConnect);

  /**
   * How many Kafka requests of a kind have come: 0 Produce, 1 Fetch, 3 Metadata, 11 JoinGroup, 12
   * Heartbeat.
   */
  requestsOf(apiKey: number): number {
    return this.#byKey.get(apiKey) ?? 0;
  }

  next(mode: FaultMode, times = 1): void {
    for (let at = 0; at < times; at++) this.#planned.push(mode);
  }

  resetEvery(requests: number, seed = 1): void {
    this.#schedule = Number.isFinite(requests)
      ? { random: new Random(seed), every: requests }
      : undefined;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.counts.connections++;
    const { host = '127.0.0.1' } = this.#options;
    const upstream = connect({ host, port: this.upstream, noDelay: true });
    const connection: Connection = { client, upstream, answer: 'pass', swallowed: false };
    this.#sockets.add(client).add(upstream);
    // forwards an error of one side (a refused connection too) as a reset, and an end as an end
    client.on('error', () => upstream.resetAndDestroy());
    client.on('close', () => upstream.destroySoon());
    client.on('close', () => this.#sockets.delete(client));
    upstream.on('error', () => connection.swallowed || client.resetAndDestroy());
    upstream.on('close', () => connection.swallowed || client.destroySoon());
    upstream.on('close', () => this.#sockets.delete(upstream));
    relay(client, (chunk) => this.#fromClient(connection, chunk));
    relay(upstream, (chunk) => this.#fromServer(connection, chunk));
  }

  async #fromClient(connection: Connection, chunk: Buffer): Promise<void> {
    if (connection.swallowed) return;
    for (const request of this.#requestsIn(connection, chunk)) {
      const mode = this.#modeOf(request);
      this.counts.requests++;
      this.counts[mode]++;
      if (mode === 'reset_before') return reset(connection);
      if (mode === 'black_hole') {
        connection.swallowed = true;
        return;
      }
      if (mode === 'delay') await new Promise((resolve) => setTimeout(resolve, this.delay_ms));
      if (mode === 'reset_after' || mode === 'truncate') connection.answer = mode;
      await send(connection.upstream, request);
    }
  }

  async #fromServer(connection: Connection, chunk: Buffer): Promise<void> {
    if (connection.swallowed) return;
    if (connection.answer === 'reset_after') return reset(connection);
    if (connection.answer === 'pass') return await send(connection.client, chunk);
    await send(connection.client, chunk.subarray(0, chunk.length >> 1));
    // an end first, so that the half is read before the connection is gone
    connection.client.end(() => reset(connection));
  }

  #modeOf(request: Buffer): FaultMode {
    const { requests, api_keys: apiKeys } = this.#options;
    if (requests === 'kafka') {
      const key = request.readInt16BE(4);
      this.#byKey.set(key, this.requestsOf(key) + 1);
      if (apiKeys !== undefined && !apiKeys.includes(key)) return 'pass';
    }
    const planned = this.#planned.shift();
    if (planned !== undefined) return planned;
    if (this.#schedule?.random.chance(1 / this.#schedule.every) === true)
      return this.#schedule.random.chance(0.5) ? 'reset_before' : 'reset_after';
    return this.mode;
  }

  #requestsIn(connection: Connection, chunk: Buffer): readonly Buffer[] {
    if (this.#options.requests !== 'kafka') return [chunk];
    connection.pieces ??= [];
    connection.pieces.push(chunk);
    connection.bytes = (connection.bytes ?? 0) + chunk.length;
    if (connection.bytes < (connection.wanted ?? 4)) return [];
    let rest = Buffer.concat(connection.pieces);
    const frames: Buffer[] = [];
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const length = 4 + rest.readInt32BE(0);
      frames.push(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    connection.pieces = rest.length > 0 ? [rest] : [];
    connection.bytes = rest.length;
    connection.wanted = rest.length >= 4 ? 4 + rest.readInt32BE(0) : 4;
    return frames;
  }
}

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  /** the fault of the next answer */
  answer: 'pass' | 'reset_after' | 'truncate';
  swallowed: boolean;
  /** of a Kafka frame that is not whole yet */
  pieces?: Buffer[];
  bytes?: number;
  wanted?: number;
}

/** Hands each chunk on, one after the other. */
function relay(from: Socket, handle: (chunk: Buffer) => Promise<void>): void {
  from.on('data', (chunk: Buffer) => {
    from.pause();
    void handle(chunk).then(() => from.resume());
  });
}

async function send(to: Socket, bytes: Buffer): Promise<void> {
  if (to.connecting) await happened(to, 'connect');
  if (to.writable && !to.write(bytes)) await happened(to, 'drain');
}

/** Resolves when it has happened, or the socket is gone. */
function happened(socket: Socket, event: 'connect' | 'drain'): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off(event, done).off('close', done);
      resolve();
    };
    socket.once(event, done).once('close', done);
  });
}

function reset({ client, upstream }: Connection): void {
  client.resetAndDestroy();
  upstream.destroy();
}

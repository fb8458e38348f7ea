/** Many subscribers in one process: what comes is counted, not read. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { SUBSCRIPTION } from './hub-operations.ts';

const OPENING_AT_ONCE = 50;

export class Subscribers {
  readonly #sockets: WebSocket[] = [];
  #results = 0;
  #wanted = 0;
  #reached: PromiseWithResolvers<void> | undefined;

  /**
   * Opens this many sockets with the subscription; resolves once each has its first result, or at
   * once when `hasSnapshot` is false.
   */
  static async open(url: string, count: number, hasSnapshot: boolean): Promise<Subscribers> {
    const subscribers = new Subscribers();
    for (let opened = 0; opened < count; opened += OPENING_AT_ONCE) {
      const some = Math.min(OPENING_AT_ONCE, count - opened);
      await Promise.all(Array.from({ length: some }, () => subscribers.#open(url)));
    }
    if (hasSnapshot) await subscribers.until(count);
    return subscribers;
  }

  get results(): number {
    return this.#results;
  }

  /** Resolves when there were so many results in all. */
  until(results: number): Promise<void> {
    if (this.#results >= results) return Promise.resolve();
    this.#wanted = results;
    this.#reached = Promise.withResolvers();
    return this.#reached.promise;
  }

  async close(): Promise<void> {
    const gone = this.#sockets.map((socket) => once(socket, 'close'));
    for (const socket of this.#sockets) socket.terminate();
    await Promise.all(gone);
  }

  async #open(url: string): Promise<void> {
    const socket = new WebSocket(url, 'graphql-transport-ws', {
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.#sockets.push(socket);
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    socket.on('message', () => this.#count());
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } }));
  }

  #count(): void {
    this.#results++;
    if (this.#results >= this.#wanted) this.#reached?.resolve();
  }
}

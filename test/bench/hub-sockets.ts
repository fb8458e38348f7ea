/**
 * Many subscribers of one list in one process. Results are counted and compared with the one
 * before: when a change has reached all before the next is made, each change has one text.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { SUBSCRIPTION } from './hub-operations.ts';

const OPENING_AT_ONCE = 50;
const RESULT = Buffer.from('{"id":"1","type":"next","payload":{"data":{"rideRequestsUpdated":[{');

export class Subscribers {
  readonly #sockets: WebSocket[] = [];
  /** of each socket */
  readonly #counts: number[] = [];
  #results = 0;
  #newest: Buffer = Buffer.alloc(0);
  #texts = 0;
  #wanted = 0;
  #reached: PromiseWithResolvers<void> | undefined;

  /**
   * Opens this many sockets with the subscription; resolves once each has its first result. A
   * server without `hasSnapshot` sends none: then once each has a pong to a ping sent after its
   * subscription.
   */
  static async open(url: string, count: number, hasSnapshot: boolean): Promise<Subscribers> {
    const subscribers = new Subscribers();
    for (let opened = 0; opened < count; opened += OPENING_AT_ONCE) {
      const some = Math.min(OPENING_AT_ONCE, count - opened);
      await Promise.all(Array.from({ length: some }, () => subscribers.#open(url, hasSnapshot)));
    }
    if (hasSnapshot) await subscribers.until(count);
    return subscribers;
  }

  get results(): number {
    return this.#results;
  }

  /** How many results were another text than the one before. */
  get texts(): number {
    return this.#texts;
  }

  /** The newest result as a message of the protocol. */
  get newest(): string {
    return this.#newest.toString();
  }

  /**
   * Resolves when there were so many results in all; rejects at a message that is no list, and when
   * one socket has more of them than another then.
   */
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

  async #open(url: string, hasSnapshot: boolean): Promise<void> {
    const socket = new WebSocket(url, 'graphql-transport-ws', {
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.#sockets.push(socket);
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } }));
    if (!hasSnapshot) {
      socket.send('{"type":"ping"}');
      await once(socket, 'message');
    }
    const at = this.#counts.push(0) - 1;
    socket.on('message', (data: Buffer) => this.#take(at, data));
  }

  #take(at: number, data: Buffer): void {
    if (!data.subarray(0, RESULT.length).equals(RESULT)) {
      const message = data.toString('utf8', 0, 200);
      return this.#reached?.reject(new Error(`a subscriber got no list: ${message}`));
    }
    this.#results++;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    if (!data.equals(this.#newest)) {
      this.#texts++;
      this.#newest = data;
    }
    if (this.#results < this.#wanted) return;
    const [least, most] = [Math.min(...this.#counts), Math.max(...this.#counts)];
    if (least === most) this.#reached?.resolve();
    else this.#reached?.reject(new Error(`one socket got ${least} lists, another ${most}`));
  }
}

/**
 * The connections of one kafkajs client, which can be ended for good. A consumer of kafkajs 2.2.4
 * that is stopped while it starts again forgets that start: it connects, joins its group and holds
 * partitions until the process ends, and nothing reaches it any more. Without connections it
 * cannot.
 */
import type { ISocketFactory } from 'kafkajs';
import type { Socket } from 'node:net';

export class Connections {
  readonly #open = new Set<Socket>();
  #isRefused = false;

  /** Opens connections by `open` until they are refused. */
  through(open: ISocketFactory): ISocketFactory {
    return (to) => {
      if (this.#isRefused) throw new Error('this client was disconnected');
      const socket = open(to);
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      return socket;
    };
  }

  /** Opens no more. Those that are open stay. */
  refuse(): void {
    this.#isRefused = true;
  }

  /** Closes all, and opens no more. */
  end(): void {
    this.refuse();
    for (const socket of this.#open) socket.destroy();
  }
}

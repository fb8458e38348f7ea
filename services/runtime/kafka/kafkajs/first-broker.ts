/**
 * The broker that a new client asks first. kafkajs begins each client with the first of the list,
 * and many clients live for one question. While that broker is frozen, its machine still accepts
 * connections, and every question would wait until `APP_KAFKA_CONNECT_MS` have passed.
 */
import type { ISocketFactory } from 'kafkajs';
import { propertyOf } from '../../process/errors.ts';

/** A broker that says nothing for this long is passed over. */
const SILENT_MS = 500;

export class FirstBroker {
  readonly #brokers: readonly string[];
  readonly #now: () => number;
  /** since when a connection has waited for its first byte; by host:port */
  readonly #waiting = new Map<string, number>();

  /** `now`: ms of a monotonic clock */
  constructor(brokers: readonly string[], now = (): number => performance.now()) {
    this.#brokers = brokers;
    this.#now = now;
  }

  /** The first that is not silent; where all are, the one that was so for the longest time. */
  next(): string {
    const silence = (broker: string): number => {
      return this.#now() - (this.#waiting.get(broker) ?? Number.POSITIVE_INFINITY);
    };
    const [longest = ''] = this.#brokers.toSorted((one, other) => silence(other) - silence(one));
    const found = this.#brokers.find((broker) => silence(broker) < SILENT_MS);
    if (found === undefined) this.#waiting.set(longest, this.#now());
    return found ?? longest;
  }

  /** Watches the connections that this opens. */
  watching(open: ISocketFactory): ISocketFactory {
    return (to) => {
      const broker = `${to.host}:${to.port}`;
      const socket = open(to);
      const openedAt = this.#now();
      if (!this.#waiting.has(broker)) this.#waiting.set(broker, openedAt);
      socket.once('data', () => this.#waiting.delete(broker));
      socket.once('error', (error) => {
        const isRefused = propertyOf(error, 'code') === 'ECONNREFUSED';
        if (isRefused) this.#waiting.set(broker, this.#now() - SILENT_MS);
      });
      // one that this process gave up early says nothing about the broker
      socket.once('close', () => {
        const isEarly = this.#now() - openedAt < SILENT_MS;
        if (isEarly && this.#waiting.get(broker) === openedAt) this.#waiting.delete(broker);
      });
      return socket;
    };
  }
}

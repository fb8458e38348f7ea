/**
 * The broker that a new client asks first. kafkajs begins each client with the first of the list,
 * and many clients live for one question. While that broker is frozen, its machine still accepts
 * connections, and every question would wait until `APP_KAFKA_CONNECT_MS` have passed.
 */
import type { ISocketFactory } from 'kafkajs';

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
      if (!this.#waiting.has(broker)) this.#waiting.set(broker, this.#now());
      let isHeard = false;
      socket.once('data', () => {
        isHeard = true;
        this.#waiting.delete(broker);
      });
      socket.once('close', () => {
        if (!isHeard) this.#waiting.set(broker, this.#now() - SILENT_MS);
      });
      return socket;
    };
  }
}

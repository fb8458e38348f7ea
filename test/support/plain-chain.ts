/** The chain of records, computed naively; it shares no code with `schemas/hash-chain.ts`. */
import { createHash } from 'node:crypto';

const stored = new WeakMap<object, Buffer>();

/** The event; remembers the value that it was decoded from. */
export function storedAs<Event extends object>(event: Event, value: Buffer | null): Event {
  stored.set(event, sha256(value ?? Buffer.alloc(0)));
  return event;
}

/** The hash of an event's value: of the stored one, otherwise of bytes in its place. */
export function plainHash(event: object): Buffer {
  const known = stored.get(event);
  if (known !== undefined) return known;
  storedAs(event, Buffer.from(textOf(event)));
  return plainHash(event);
}

function textOf(event: object): string {
  return JSON.stringify(event, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** The hash of the last of these records, which all count. */
export function plainHead(events: readonly object[]): Buffer {
  return events.reduce<Buffer>(
    (head, event) => sha256(Buffer.concat([head, plainHash(event)])),
    Buffer.alloc(0),
  );
}

/** The events, each with the hash of the record before it that counts: they must all count. */
export function plainLinks<Event extends object>(
  events: readonly Event[],
): readonly (Event & { readonly previous: Buffer })[] {
  const links: (Event & { readonly previous: Buffer })[] = [];
  for (const event of events) links.push({ ...event, previous: plainHead(links) });
  return links;
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** A codec whose values are the numbers of the events. */
export class NumberedValues<Event extends { readonly type: string }> {
  readonly #events: Event[] = [];

  encode(event: Event): Buffer {
    return Buffer.from(String(this.#events.push(event) - 1));
  }

  fingerprintOf(): string {
    return 'none';
  }

  learn(): Promise<void> {
    return Promise.resolve();
  }

  decode(value: Buffer | null): Event {
    const event = this.#events[Number(String(value))];
    if (event === undefined) throw new Error('nobody encoded it');
    return event;
  }
}

/**
 * What leaves by one socket. Results are written as they are made; once a socket has too much that it has not taken, it is behind: it gets nothing more but, when it
 * has drained, the newest result of each of its subscriptions; and one that stays behind for too long is closed.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Body } from './groups.ts';

/** Try again later. */
export const TRY_AGAIN_LATER = 1013;
/** Longer results go out in pieces, so that all sockets share one copy. */
const SHARED_CHARACTERS_MIN = 4_096;

export interface OutletSettings {
  /** bytes that a socket may have not taken yet */
  readonly socket_buffer_bytes_max: number;
  /** how long it may stay behind */
  readonly socket_slow_ms: number;
}

/** What the socket writes to: corked, its frames go out together. */
type Corked = Pick<Duplex, 'cork' | 'uncork'>;
type Socket = Pick<
  WebSocket,
  'bufferedAmount' | 'close' | 'send' | 'readyState' | 'OPEN' | 'pause' | 'resume'
>;

export class Outlet {
  readonly #socket: Socket;
  readonly #stream: Corked;
  readonly #settings: OutletSettings;
  readonly #now: () => number;
  /** what to send of each subscription that missed a result */
  readonly #missed = new Map<string, () => Body | undefined>();
  /** since when it is behind, ms */
  #behindSince: number | undefined;
  #isGivenUp = false;

  constructor(socket: Socket, stream: Corked, settings: OutletSettings, now: () => number) {
    this.#socket = socket;
    this.#stream = stream;
    this.#settings = settings;
    this.#now = now;
  }

  get isBehind(): boolean {
    return this.#behindSince !== undefined;
  }

  /** Sends a result of the subscription whose beginning of a message this is, or the newest one later. */
  deliver(opening: string, body: Body, newest: () => Body | undefined): void {
    if (this.#isFull()) this.#missed.set(opening, newest);
    else this.#write(opening, body);
  }

  /** The subscription is over: nothing more is owed. */
  forget(opening: string): void {
    this.#missed.delete(opening);
  }

  /** Reading stops while the socket is behind, so that nobody can have answers pile up that he does not take. */
  received(): void {
    if (this.#isFull()) this.#socket.pause();
  }

  /** To be called again and again while it is behind; true when that was for too long, and it is closed. */
  look(): boolean {
    const since = this.#behindSince;
    if (since === undefined || this.#isGivenUp) return false;
    const { socket_buffer_bytes_max: bytesMax, socket_slow_ms: slowMs } = this.#settings;
    if (this.#socket.bufferedAmount > bytesMax / 2) {
      if (this.#now() - since < slowMs) return false;
      this.#isGivenUp = true;
      // behind all that it has not taken; if it does not take that either, it is cut off in half a minute
      this.#socket.close(TRY_AGAIN_LATER, 'too slow');
      this.#socket.resume();
      return true;
    }
    this.#behindSince = undefined;
    this.#socket.resume();
    for (const [opening, newest] of this.#missed) {
      if (this.#isFull()) return false;
      this.#missed.delete(opening);
      const body = newest();
      if (body !== undefined) this.#write(opening, body);
    }
    return false;
  }

  #isFull(): boolean {
    if (this.#behindSince !== undefined) return true;
    if (this.#socket.bufferedAmount <= this.#settings.socket_buffer_bytes_max) return false;
    this.#behindSince = this.#now();
    return true;
  }

  #write(opening: string, body: Body): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    if (body.text.length < SHARED_CHARACTERS_MIN) return socket.send(`${opening}${body.text}}`);
    this.#stream.cork();
    socket.send(opening, { fin: false });
    socket.send(body.bytes, { fin: false, binary: false });
    socket.send('}', { fin: true });
    this.#stream.uncork();
  }
}

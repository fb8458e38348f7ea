/**
 * The outgoing side of a socket. Results of subscriptions are written as they come until the client
 * has too many bytes outstanding. Then the socket is behind: it is not read, and gets nothing until
 * it has drained, and then the latest result of each subscription that missed one. Results of
 * queries cannot be left out, so they are written nevertheless. A socket that stays behind for too
 * long is closed.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { Payload } from './shared-subscriptions.ts';

/** Close code. */
const TRY_AGAIN_LATER = 1013;
/** A longer result is sent in fragments, so that all sockets share its bytes. */
const SHARED_CHARACTERS_MIN = 4_096;

export interface BackpressureSettings {
  /** bytes that may be outstanding */
  readonly socket_buffer_bytes_max: number;
  /** how long a socket may be behind */
  readonly socket_slow_ms: number;
}

type Socket = Pick<
  WebSocket,
  'bufferedAmount' | 'close' | 'send' | 'readyState' | 'OPEN' | 'pause' | 'resume'
>;

export class BackpressuredSocket {
  readonly #socket: Socket;
  /** under the socket: its frames go out together while it is corked */
  readonly #stream: Pick<Duplex, 'cork' | 'uncork'>;
  readonly #settings: BackpressureSettings;
  readonly #now: () => number;
  /** the latest result of each subscription that missed one, by the prefix of its messages */
  readonly #missed = new Map<string, () => Payload | undefined>();
  /** ms */
  #behindSince: number | undefined;
  #isGivenUp = false;

  /** `now` in ms of a monotonic clock. */
  constructor(
    socket: Socket,
    stream: Pick<Duplex, 'cork' | 'uncork'>,
    settings: BackpressureSettings,
    now: () => number,
  ) {
    this.#socket = socket;
    this.#stream = stream;
    this.#settings = settings;
    this.#now = now;
  }

  get is_behind(): boolean {
    return this.#behindSince !== undefined;
  }

  /** Sends `prefix`, the payload and `}`, or once drained the latest result of this prefix. */
  deliver(prefix: string, payload: Payload, latest: () => Payload | undefined): void {
    if (this.#isFull()) this.#missed.set(prefix, latest);
    else this.#write(prefix, payload);
  }

  /** Sends such a message in any case. Resolves when it is written, or the socket is closed. */
  send(prefix: string, text: string): Promise<void> {
    return new Promise((resolve) => this.#write(prefix, new Payload(text), resolve));
  }

  /** The subscription is over: it is owed nothing. */
  forget(prefix: string): void {
    this.#missed.delete(prefix);
  }

  /** Call at each message: a socket that is behind is not read, so its responses stay bounded. */
  received(): void {
    if (!this.#isGivenUp && this.#isFull()) this.#socket.pause();
  }

  /**
   * Call periodically: a socket may also be behind with results of queries, which are not delivered
   * here. True when it closes a socket that was behind for too long.
   */
  check(): boolean {
    if (this.#isGivenUp || !this.#isFull()) return false;
    const since = this.#behindSince ?? this.#now();
    const { socket_buffer_bytes_max: socketBufferBytesMax, socket_slow_ms: socketSlowMs } =
      this.#settings;
    if (this.#socket.bufferedAmount > socketBufferBytesMax / 2) {
      if (this.#now() - since < socketSlowMs) return false;
      this.#isGivenUp = true;
      // the close frame waits behind the outstanding bytes; ws terminates the socket 30 s later
      this.#socket.close(TRY_AGAIN_LATER, 'too slow');
      this.#socket.resume();
      return true;
    }
    this.#behindSince = undefined;
    // one that is being closed is not read any more
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.resume();
    for (const [prefix, latest] of this.#missed) {
      if (this.#isFull()) return false;
      this.#missed.delete(prefix);
      const payload = latest();
      if (payload !== undefined) this.#write(prefix, payload);
    }
    return false;
  }

  #isFull(): boolean {
    if (this.#behindSince !== undefined) return true;
    if (this.#socket.bufferedAmount <= this.#settings.socket_buffer_bytes_max) return false;
    this.#behindSince = this.#now();
    return true;
  }

  #write(prefix: string, payload: Payload, written: () => void = () => undefined): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return written();
    if (payload.text.length < SHARED_CHARACTERS_MIN)
      return socket.send(`${prefix}${payload.text}}`, written);
    this.#stream.cork();
    socket.send(prefix, { fin: false });
    socket.send(payload.bytes, { fin: false, binary: false });
    socket.send('}', { fin: true }, written);
    this.#stream.uncork();
  }
}

/**
 * A minimal HTTP client, one kept-alive connection with one request in flight, so that the server
 * is measured.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *([0-9]+)/i;
const STATUS = /^HTTP\/1\.1 ([0-9]{3})/;
const NOTHING = Buffer.alloc(0);
const READ_BYTES = 65_536;

export interface HttpAnswer {
  readonly status: number;
  /** changes with the next request of the connection */
  readonly body: Buffer;
}

export class KeepAlive {
  readonly #socket: Socket;
  readonly #host: string;
  #waiting: PromiseWithResolvers<HttpAnswer> | undefined;
  #received: Buffer = NOTHING;
  #head: { readonly status: number; readonly body_at: number; readonly end: number } | undefined;

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error(`${host} closed the connection`)));
  }

  /** `url` without a path. */
  static async open(url: string): Promise<KeepAlive> {
    const { hostname, port, host } = new URL(url);
    let connection: KeepAlive | undefined;
    // a buffer for each chunk would cost the client more than the request costs the server
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array): boolean => {
        const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, bytes);
        if (connection !== undefined) connection.#take(chunk);
        return true;
      },
    };
    const socket = connect({ host: hostname, port: Number(port), onread });
    await once(socket, 'connect');
    return (connection = new KeepAlive(socket, host));
  }

  /** The whole response. Rejects when the connection breaks or there is no content-length. */
  get(path: string): Promise<HttpAnswer> {
    return this.#ask(`GET ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n\r\n`);
  }

  /** The same for a JSON body. */
  post(path: string, body: string): Promise<HttpAnswer> {
    const head = `POST ${path} HTTP/1.1\r\nhost: ${this.#host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return this.#ask(head + body);
  }

  #ask(request: string): Promise<HttpAnswer> {
    if (this.#waiting !== undefined) throw new Error('one request at a time');
    this.#waiting = Promise.withResolvers();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** `chunk` is overwritten by the next one. */
  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    this.#parse();
    if (this.#received === chunk) this.#received = Buffer.from(chunk);
  }

  #parse(): void {
    if (this.#head === undefined) {
      const headEnd = this.#received.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const text = this.#received.toString('latin1', 0, headEnd);
      const status = STATUS.exec(text)?.[1];
      const length = LENGTH.exec(text)?.[1];
      if (length === undefined || status === undefined)
        return this.#fail(new Error(`an answer without a length: ${text}`));
      const bodyAt = headEnd + HEAD_END.length;
      this.#head = { status: Number(status), body_at: bodyAt, end: bodyAt + Number(length) };
    }
    const { status, body_at: bodyAt, end } = this.#head;
    if (this.#received.length < end) return;
    const body = this.#received.subarray(bodyAt, end);
    const waiting = this.#waiting;
    this.#received = NOTHING;
    this.#head = undefined;
    this.#waiting = undefined;
    waiting?.resolve({ status, body });
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

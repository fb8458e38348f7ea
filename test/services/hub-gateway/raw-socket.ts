/** A bare WebSocket client: its messages one by one, and the code that closes it. */
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';

export interface SocketMessage {
  readonly id?: string;
  readonly type: string;
  readonly payload?: unknown;
}

export class RawSocket {
  readonly messages: SocketMessage[] = [];
  readonly socket: WebSocket;
  /** the close code */
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', (code) => resolve(code)));
    socket.on('message', (data: Buffer) => void this.messages.push(JSON.parse(data.toString())));
    socket.on('error', () => undefined);
  }

  /** Resolves once it is open. */
  static async open(
    url: string,
    protocols: string[] = ['graphql-transport-ws'],
  ): Promise<RawSocket> {
    const socket = new WebSocket(url, protocols);
    const raw = new RawSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('unexpected-response', (_request, response) =>
        reject(new Error(`answered ${response.statusCode}`)),
      );
      socket.once('error', reject);
    });
    return raw;
  }

  /** Opens a socket and waits for the acknowledgement. */
  static async begun(url: string, payload: object = {}): Promise<RawSocket> {
    const raw = await RawSocket.open(url);
    raw.send({ type: 'connection_init', payload });
    await raw.next(({ type }) => type === 'connection_ack');
    return raw;
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Sends these messages in one piece: the server reads none before the others are there. */
  together(send: () => void): void {
    const { _socket: socket }: { readonly _socket: Socket } = Object(this.socket);
    socket.cork();
    send();
    socket.uncork();
  }

  subscribe(id: string, query: string, variables: object = {}): void {
    this.send({ id, type: 'subscribe', payload: { query, variables } });
  }

  /** The first message, past or future, that matches. */
  next(holds: (message: SocketMessage) => boolean): Promise<SocketMessage> {
    const known = this.messages.find(holds);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.messages.find(holds);
        if (found === undefined) return;
        this.socket.off('message', look);
        resolve(found);
      };
      this.socket.on('message', look);
      void this.closed.then((code) => reject(new Error(`closed with ${code}`)));
    });
  }

  /** All results of an operation so far. */
  results(id: string): unknown[] {
    return this.messages
      .filter((message) => message.type === 'next' && message.id === id)
      .map(({ payload }) => payload);
  }

  /** All messages of an operation that ends. */
  async outcome(id: string, query: string): Promise<readonly SocketMessage[]> {
    this.subscribe(id, query);
    await this.next(
      (message) => message.id === id && (message.type === 'complete' || message.type === 'error'),
    );
    return this.messages.filter((message) => message.id === id);
  }

  close(): Promise<number> {
    this.socket.close();
    return this.closed;
  }
}

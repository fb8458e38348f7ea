/** A stub of the treasury with configured answers, which counts requests. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { assert } from '../../../../services/runtime/process/errors.ts';

export class TreasuryServer {
  answer: RequestListener = (_request, response) => response.end('{"last_run":null}');
  readonly requests: IncomingMessage[] = [];
  readonly #server = createServer((request, response) => {
    this.requests.push(request);
    this.answer(request, response);
  });

  static async open(): Promise<TreasuryServer> {
    const treasury = new TreasuryServer();
    treasury.#server.listen(0, '127.0.0.1');
    await once(treasury.#server, 'listening');
    return treasury;
  }

  get url(): string {
    const address: AddressInfo | string | null = this.#server.address();
    assert(typeof address === 'object' && address !== null, 'a listening server has an address');
    return `http://127.0.0.1:${address.port}/public/reconciliation`;
  }

  /** Answers with this body and status. */
  says(body: string | Buffer, status = 200, headers: Readonly<Record<string, string>> = {}): void {
    this.answer = (_request, response) => response.writeHead(status, headers).end(body);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

/**
 * A CLT node that repeats the answers of another one, truly or not, for a treasury that has it as
 * its second node.
 *
 *     const second = await LyingNode.open(devnet.node_url);
 *     second.lie = 'another_hash';
 *     await second.close();
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type Lie =
  | 'none'
  /** every block has another hash */
  | 'another_hash'
  /** blocks have the true hashes and no transactions */
  | 'no_transactions'
  /** no block but the first is final */
  | 'behind'
  /** every connection is closed without an answer */
  | 'away';

const NOT_HASH = `0x${'66'.repeat(32)}`;

export class LyingNode {
  lie: Lie = 'none';
  readonly #behind: string;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  private constructor(nodeUrl: string) {
    this.#behind = nodeUrl;
  }

  static async open(nodeUrl: string): Promise<LyingNode> {
    const node = new LyingNode(nodeUrl);
    node.#server.listen(0, '127.0.0.1');
    await once(node.#server, 'listening');
    return node;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the node is closed');
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.lie === 'away') {
      response.destroy();
      return;
    }
    const { status, body } = await fetch(`${this.#behind}${url}`).then(
      async (answer) => ({ status: answer.status, body: Object(await answer.json()) }),
      () => ({ status: 503, body: {} }),
    );
    if (response.destroyed) return;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(this.#told(url, body)));
  }

  #told(url: string, body: object): object {
    if (url === '/v1/chain' && this.lie === 'behind') return { ...body, finalized_height: 0 };
    if (!url.startsWith('/v1/blocks/') || !('hash' in body)) return body;
    if (this.lie === 'another_hash') return { ...body, hash: NOT_HASH };
    if (this.lie === 'no_transactions') return { ...body, transactions: [], balance_effects: [] };
    return body;
  }
}

/**
 * A CLT node under a test's control: it grows, reorganises and finalizes on command, over real
 * HTTP.
 */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { wireOf, type NodeBlock } from '../../schemas/chain-node.ts';
import { toHex } from '../../schemas/address.ts';

const CHAIN_ID = 7777;

export class ScriptedNode {
  readonly #server = createServer((request, response) =>
    this.#answer(new URL(request.url ?? '/', 'http://node'), response),
  );
  readonly #waiting = new Set<{ readonly height: number; readonly response: ServerResponse }>();
  #blocks: NodeBlock[] = [];
  #branch = 0;
  finalized = 0;
  /** of the next blocks; undefined: in the past */
  dated_ahead_ms: number | undefined;
  chain_id = CHAIN_ID;
  mint_authority = `0x${'11'.repeat(20)}`;
  /** how many requests it has answered, by path without query */
  readonly asked: string[] = [];

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the node does not listen on a port');
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get blocks(): readonly NodeBlock[] {
    return this.#blocks;
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  /** Has these blocks, from height 0 on. */
  set blocks(blocks: readonly NodeBlock[]) {
    this.#blocks = [...blocks];
  }

  /** Adds blocks on top and wakes who waits for them. */
  grow(count: number): void {
    for (let added = 0; added < count; added++) this.#blocks.push(this.#next());
    for (const waiting of this.#waiting) {
      const block = this.#blocks[waiting.height];
      if (block === undefined) continue;
      this.#waiting.delete(waiting);
      json(waiting.response, 200, wireOf(block));
    }
  }

  /** Takes the newest `depth` blocks off and puts `count` others there. */
  reorganise(depth: number, count: number): void {
    this.#blocks = this.#blocks.slice(0, this.#blocks.length - depth);
    this.#branch++;
    this.grow(count);
  }

  #next(): NodeBlock {
    const parent = this.#blocks.at(-1);
    const height = this.#blocks.length;
    const hash = digest(`${this.#branch} ${height}`);
    const address = digest('producer').subarray(0, 20);
    return {
      height,
      hash,
      parent_hash: parent?.hash ?? Buffer.alloc(32),
      timestamp:
        this.dated_ahead_ms === undefined
          ? 1_760_000_000_000 + height * 1_000
          : Date.now() + this.dated_ahead_ms,
      producer: address,
      reward_recipient: address,
      block_reward: 0n,
      transactions: [],
      balance_effects: [],
    };
  }

  #answer(url: URL, response: ServerResponse): void {
    this.asked.push(url.pathname);
    const height = /^\/v1\/blocks\/(\d+)$/.exec(url.pathname)?.[1];
    if (url.pathname === '/v1/chain') return json(response, 200, this.#chain());
    if (url.pathname === '/v1/blocks') {
      const from = Number(url.searchParams.get('from'));
      return json(response, 200, {
        blocks: this.#blocks.slice(from, from + Number(url.searchParams.get('limit'))).map(wireOf),
      });
    }
    const block = this.#blocks[Number(height)];
    if (block !== undefined) return json(response, 200, wireOf(block));
    if (!url.searchParams.has('wait_ms'))
      return json(response, 404, { code: 'not_found', message: 'no such block' });
    const waiting = { height: Number(height), response };
    this.#waiting.add(waiting);
    response.once('close', () => this.#waiting.delete(waiting));
  }

  #chain(): unknown {
    const head = this.#blocks.at(-1);
    return {
      chain_id: this.chain_id,
      is_testnet: true,
      tx_fee: '10',
      total_supply: '1000',
      genesis_allocation: '1000',
      mint_authority: this.mint_authority,
      head: { height: head?.height, hash: head === undefined ? undefined : toHex(head.hash) },
      finalized_height: this.finalized,
    };
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function json(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

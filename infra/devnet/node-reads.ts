/** What the node answers to a GET: of the newest block, or while it lags of an older one. */
import type { Request, Response } from 'express';
import { parseAddress, toHex } from '../../schemas/address.ts';
import type { NodeAccount, NodeChain, Wire } from '../../schemas/chain-node.ts';
import { answer, answerText, refuse } from './http.ts';
import type { Faults } from './faults.ts';
import type { Anchor } from './clt/chain.ts';
import type { CltNode } from './clt/node.ts';

const BLOCKS_DEFAULT = 100;
const BLOCKS_MAX = 500;
const BLOCKS_BYTES_MAX = 32 * 1024 * 1024;
const WAIT_MS_MAX = 30_000;

export class NodeReads {
  readonly #node: CltNode;
  readonly #faults: Faults;
  readonly #now: () => number;

  constructor(node: CltNode, faults: Faults, now: () => number) {
    this.#node = node;
    this.#faults = faults;
    this.#now = now;
  }

  chain(response: Response): void {
    const { chain, genesis } = this.#node;
    const { chain_id, is_testnet, tx_fee, mint_authority, finality_depth } = chain.parameters;
    const { height, hash } = this.#head(this.#lag());
    const body: Wire<NodeChain> = {
      chain_id,
      is_testnet,
      tx_fee: String(tx_fee),
      total_supply: String(chain.supply(height)),
      genesis_allocation: String(genesis.allocation),
      mint_authority,
      head: { height, hash },
      finalized_height: Math.max(0, height - finality_depth),
    };
    answer(response, body);
  }

  /** As many blocks as exist, as asked for, and as fit into 32 MiB; at least one if there is one. */
  async blocks(request: Request, response: Response): Promise<void> {
    const from = integer(request.query['from'], undefined);
    const limit = integer(request.query['limit'], BLOCKS_DEFAULT);
    if (from === undefined || limit === undefined || limit < 1 || limit > BLOCKS_MAX) {
      refuse(
        response,
        400,
        'invalid_request',
        `from is a height, limit an integer from 1 to ${BLOCKS_MAX}`,
      );
      return;
    }
    const to = Math.min(from + limit - 1, this.#head(this.#lag()).height);
    const blocks = to < from ? [] : await this.#node.readBlocks(from, to, BLOCKS_BYTES_MAX);
    const parts = blocks.flatMap((block, index) => (index === 0 ? [block] : [COMMA, block]));
    answerText(response, Buffer.concat([OPEN, ...parts, CLOSE]));
  }

  /** Holds the answer for up to `wait_ms` until the block exists. */
  async block(request: Request, response: Response): Promise<void> {
    const height = integer(request.params['height'], undefined);
    const wait = integer(request.query['wait_ms'], 0);
    if (height === undefined || wait === undefined || wait > WAIT_MS_MAX) {
      refuse(
        response,
        400,
        'invalid_request',
        `the height is a decimal integer, wait_ms an integer from 0 to ${WAIT_MS_MAX}`,
      );
      return;
    }
    const lag = this.#lag();
    const exists = (): boolean => this.#head(lag).height >= height;
    await this.#node.waitUntil(exists, wait, whenClosed(response));
    if (response.destroyed) return;
    if (exists()) answerText(response, await this.#node.readBlock(height));
    else refuse(response, 404, 'not_found', `there is no block ${height} yet`);
  }

  account(request: Request, response: Response): void {
    const bytes = parseAddress(String(request.params['address']));
    if (bytes === undefined) {
      refuse(response, 400, 'invalid_request', 'an address is 0x and 40 hex digits');
      return;
    }
    const { chain } = this.#node;
    const lag = this.#lag();
    const address = toHex(bytes);
    const { balance, nonce } = chain.account(address, this.#head(lag).height);
    const pending_nonce = lag === 0 ? chain.mempool.account(address).nonce : nonce;
    const body: Wire<NodeAccount> = { address, balance: String(balance), nonce, pending_nonce };
    answer(response, body);
  }

  /** How long ago the answer shall be from, in ms. */
  #lag(): number {
    return this.#faults.take('lag')?.delay_ms ?? 0;
  }

  /** The newest block of which this answer may know. */
  #head(lag_ms: number): Anchor {
    const { chain } = this.#node;
    return lag_ms === 0 ? chain.head : chain.newestUntil(this.#now() - lag_ms);
  }
}

const OPEN = Buffer.from('{"blocks":[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']}');

/** A decimal integer that JSON can say, or `absent` when the parameter is not given; undefined is a bad one. */
function integer(value: unknown, absent: number | undefined): number | undefined {
  if (value === undefined) return absent;
  if (typeof value !== 'string' || !/^(?:0|[1-9][0-9]{0,15})$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

function whenClosed(response: Response): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}

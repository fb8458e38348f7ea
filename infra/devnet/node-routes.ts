/** The node's HTTP contract. Amounts are decimal text, hashes and addresses 0x + lower-case hex. */
import type { Express, Request, Response } from 'express';
import { parseAddress, toHex } from '../../schemas/address.ts';
import type { NodeAccount, NodeChain, Wire } from '../../schemas/chain-node.ts';
import { parseRawText } from '../../schemas/raw-transaction.ts';
import { answer, answerText, refuse } from './http.ts';
import type { Faults } from './faults.ts';
import { submitted } from './node-submit.ts';
import type { Anchor } from './clt/chain.ts';
import type { CltNode } from './clt/node.ts';

const BLOCKS_MAX = 500;
const BLOCKS_BYTES_MAX = 32 * 1024 * 1024;
const WAIT_MS_MAX = 30_000;

export function nodeRoutes(node: CltNode, faults: Faults, now: () => number): (app: Express) => void {
  const { chain, genesis } = node;
  const { parameters } = chain;

  /** The newest block of which this answer may know. */
  function servedHead(lag_ms: number): Anchor {
    if (lag_ms === 0) return chain.head;
    let served = chain.head;
    while (served.timestamp > now() - lag_ms) {
      const below = chain.recent(served.height - 1);
      if (below === undefined) break;
      served = below;
    }
    return served;
  }
  const lag = (): number => faults.take('lag')?.delay_ms ?? 0;

  return (app) => {
    app.use(async (_request, response, next) => {
      if (faults.take('reset') !== undefined) {
        response.destroy();
        return;
      }
      if (faults.take('status_503') !== undefined) {
        refuse(response, 503, 'unavailable', 'the node is not available; try again later');
        return;
      }
      const delay = faults.take('delay');
      const { promise, resolve } = Promise.withResolvers<void>();
      if (delay === undefined) resolve();
      else setTimeout(resolve, delay.delay_ms);
      await promise;
      next();
    });

    app.get('/v1/chain', (_request, response) => {
      const head = servedHead(lag());
      const body: Wire<NodeChain> = {
        chain_id: parameters.chain_id,
        is_testnet: parameters.is_testnet,
        tx_fee: String(parameters.tx_fee),
        total_supply: String(chain.supply(head.height)),
        genesis_allocation: String(genesis.allocation),
        mint_authority: parameters.mint_authority,
        head: { height: head.height, hash: head.hash },
        finalized_height: Math.min(head.height, Math.max(0, head.height - parameters.finality_depth)),
      };
      answer(response, body);
    });

    app.get('/v1/blocks', async (request, response) => {
      const from = integer(request.query['from'], undefined);
      const limit = integer(request.query['limit'], 100);
      if (from === undefined || limit === undefined || limit < 1 || limit > BLOCKS_MAX) {
        refuse(response, 400, 'invalid_request', `from is a height, limit an integer from 1 to ${BLOCKS_MAX}`);
        return;
      }
      const to = Math.min(from + limit - 1, servedHead(lag()).height);
      const blocks = to < from ? [] : await node.readBlocks(from, to, BLOCKS_BYTES_MAX);
      const parts = blocks.flatMap((block, index) => (index === 0 ? [block] : [COMMA, block]));
      answerText(response, Buffer.concat([OPEN, ...parts, CLOSE]));
    });

    app.get('/v1/blocks/:height', async (request, response) => {
      const height = integer(request.params.height, undefined);
      const wait = integer(request.query['wait_ms'], 0);
      if (height === undefined || wait === undefined || wait > WAIT_MS_MAX) {
        refuse(response, 400, 'invalid_request', `the height is a decimal integer, wait_ms an integer from 0 to ${WAIT_MS_MAX}`);
        return;
      }
      const lag_ms = lag();
      await node.waitUntil(() => servedHead(lag_ms).height >= height, wait, whenClosed(response));
      if (response.destroyed) return;
      if (servedHead(lag_ms).height < height) refuse(response, 404, 'not_found', `there is no block ${height} yet`);
      else answerText(response, await node.readBlock(height));
    });

    app.get('/v1/accounts/:address', (request, response) => {
      const bytes = parseAddress(request.params.address);
      if (bytes === undefined) {
        refuse(response, 400, 'invalid_request', 'an address is 0x and 40 hex digits');
        return;
      }
      const lag_ms = lag();
      const address = toHex(bytes);
      const { balance, nonce } = chain.account(address, servedHead(lag_ms).height);
      const pending_nonce = lag_ms === 0 ? chain.mempool.account(address).nonce : nonce;
      const body: Wire<NodeAccount> = { address, balance: String(balance), nonce, pending_nonce };
      answer(response, body);
    });

    app.post('/v1/transactions', async (request, response) => {
      const text = rawTransaction(request);
      if (text === undefined) {
        refuse(response, 400, 'invalid_request', 'the body is JSON {"raw_transaction": "0x.."}');
        return;
      }
      const parsed = parseRawText(text);
      if ('refused' in parsed) {
        const [status, code] = parsed.refused === 'too_large' ? [413, 'too_large'] : [400, 'invalid_transaction'];
        refuse(response, status, code, 'raw_transaction is hex of at most 128 KiB');
        return;
      }
      await submitted(node, faults, parsed.raw, response);
    });
  };
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

function rawTransaction(request: Request): string | undefined {
  const body: unknown = request.body;
  if (typeof body !== 'object' || body === null || !('raw_transaction' in body)) return undefined;
  return typeof body.raw_transaction === 'string' ? body.raw_transaction : undefined;
}

function whenClosed(response: Response): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}

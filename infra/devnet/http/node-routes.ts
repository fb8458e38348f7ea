/** The CLT node's routes. Amounts are decimal text, hashes and addresses 0x + lower-case hex. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import type { NodeAccount, NodeChain, Wire } from '../../../schemas/chain-node.ts';
import { parseRawText } from '../../../schemas/raw-transaction.ts';
import type { Anchor } from '../clt/chain.ts';
import { verify, verifiedByUs } from '../clt/execute.ts';
import { signCall } from '../clt/keys.ts';
import type { CltNode, SubmitRefusal } from '../clt/node.ts';
import { answerText, bodyFields, refuse, type Routes } from './app.ts';
import type { Faults, NodeFaultMode } from './faults.ts';

const BLOCKS_DEFAULT = 100;
const BLOCKS_MAX = 500;
const BLOCKS_BYTES_MAX = 32 * 1024 * 1024;
const WAIT_MS_MAX = 30_000;

export function nodeRoutes(
  node: CltNode,
  faults: Faults<NodeFaultMode>,
  now: () => number,
): Routes {
  const { chain, genesis } = node;
  /** The age of the answer, in ms. */
  const takeLag = (): number => faults.take('lag')?.delay_ms ?? 0;
  const headWithLag = (lag_ms: number): Anchor =>
    lag_ms === 0 ? chain.head : chain.newestUntil(now() - lag_ms);

  return (app) => {
    app.use(async (_request, response, next) => {
      if (await isUp(faults, response)) next();
    });

    app.get('/v1/chain', (_request, response) => {
      const { chain_id, is_testnet, tx_fee, finality_depth } = chain.parameters;
      const { height, hash } = headWithLag(takeLag());
      const body: Wire<NodeChain> = {
        chain_id,
        is_testnet,
        tx_fee: String(tx_fee),
        total_supply: String(chain.supply(height)),
        genesis_allocation: String(genesis.allocation),
        mint_authority: chain.mintAuthority(height + 1),
        head: { height, hash },
        finalized_height: Math.max(0, height - finality_depth),
      };
      response.json(body);
    });

    // as many blocks as exist, are asked for and fit into 32 MiB; at least one if there is one
    app.get('/v1/blocks', async (request, response) => {
      const from = queryInteger(request.query['from'], undefined);
      const limit = queryInteger(request.query['limit'], BLOCKS_DEFAULT);
      if (from === undefined || limit === undefined || limit < 1 || limit > BLOCKS_MAX) {
        const message = `from is a height, limit an integer from 1 to ${BLOCKS_MAX}`;
        return refuse(response, 400, 'invalid_request', message);
      }
      const to = Math.min(from + limit - 1, headWithLag(takeLag()).height);
      const blocks = to < from ? [] : await node.store.readRange(from, to, BLOCKS_BYTES_MAX);
      const parts = blocks.flatMap((block, index) => (index === 0 ? [block] : [COMMA, block]));
      answerText(response, Buffer.concat([OPEN, ...parts, CLOSE]));
    });

    // holds the answer for up to `wait_ms` until the block exists
    app.get('/v1/blocks/:height', async (request, response) => {
      const height = queryInteger(request.params['height'], undefined);
      const wait = queryInteger(request.query['wait_ms'], 0);
      if (height === undefined || wait === undefined || wait > WAIT_MS_MAX) {
        const message = `the height is a decimal integer, wait_ms an integer from 0 to ${WAIT_MS_MAX}`;
        return refuse(response, 400, 'invalid_request', message);
      }
      const lag = takeLag();
      const exists = (): boolean => headWithLag(lag).height >= height;
      const closed = new AbortController();
      response.once('close', () => closed.abort());
      await node.waitUntil(exists, wait, closed.signal);
      if (response.destroyed) return;
      if (exists()) answerText(response, await node.store.read(height));
      else refuse(response, 404, 'not_found', `there is no block ${height} yet`);
    });

    app.get('/v1/accounts/:address', (request, response) => {
      const bytes = parseAddress(request.params.address);
      if (bytes === undefined)
        return refuse(response, 400, 'invalid_request', 'an address is 0x and 40 hex digits');
      const lag = takeLag();
      const address = toHex(bytes);
      const { balance, nonce } = chain.account(address, headWithLag(lag).height);
      const pending_nonce = lag === 0 ? chain.mempool.account(address).nonce : nonce;
      const body: Wire<NodeAccount> = { address, balance: String(balance), nonce, pending_nonce };
      response.json(body);
    });

    app.post('/v1/transactions', (request, response) => submit(node, faults, request, response));
  };
}

const OPEN = Buffer.from('{"blocks":[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']}');

/** False when a fault of the whole node answered or reset the connection. */
async function isUp(faults: Faults<NodeFaultMode>, response: Response): Promise<boolean> {
  if (faults.take('reset') !== undefined) {
    response.socket?.resetAndDestroy();
    return false;
  }
  if (faults.take('status_503') !== undefined) {
    refuse(response, 503, 'unavailable', 'the node is not available; try again later');
    return false;
  }
  const delay = faults.take('delay');
  if (delay !== undefined) await pause(delay.delay_ms, undefined, { ref: false });
  return !response.destroyed;
}

/** A decimal safe integer; `absent` for a missing parameter; undefined for a malformed one. */
function queryInteger(value: unknown, absent: number | undefined): number | undefined {
  if (value === undefined) return absent;
  if (typeof value !== 'string' || !/^(?:0|[1-9][0-9]{0,15})$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** 400: can never succeed. 403: not this sender. 409: conflicts with the current state. */
const STATUS: Readonly<Record<SubmitRefusal['refused'], number>> = {
  invalid_transaction: 400,
  wrong_chain: 400,
  bad_signature: 400,
  amount_is_zero: 400,
  supply_overflow: 400,
  not_allowed: 403,
  already_known: 409,
  nonce_too_low: 409,
  nonce_gap: 409,
  insufficient_balance: 409,
  request_not_open: 409,
  offer_not_open: 409,
  trip_not_active: 409,
  too_many_offers: 409,
  mempool_full: 503,
};

function submit(
  node: CltNode,
  faults: Faults<NodeFaultMode>,
  request: Request,
  response: Response,
): void {
  const { raw_transaction: rawTransaction } = bodyFields(request.body);
  if (typeof rawTransaction !== 'string')
    return refuse(response, 400, 'invalid_request', 'the body is JSON {"raw_transaction": "0x.."}');
  const parsed = parseRawText(rawTransaction);
  if ('refused' in parsed)
    return parsed.refused === 'too_large'
      ? refuse(response, 413, 'too_large', 'raw_transaction is at most 128 KiB')
      : refuse(response, 400, 'invalid_transaction', 'raw_transaction is not hex');
  if (faults.take('already_known') !== undefined)
    return refuse(response, 409, 'already_known', 'the transaction waits for a block already');
  const transaction = verify(parsed.raw, node.chain.parameters.chain_id);
  if ('refused' in transaction)
    return refuse(response, STATUS[transaction.refused], transaction.refused, transaction.message);
  const isMint =
    transaction.call.function_call_type === 'Mint' &&
    transaction.from === node.genesis.cast.mint_authority.address;
  if (isMint && faults.take('human_takes_nonce') !== undefined) takeNonce(node, transaction.nonce);
  const result = node.enqueue(transaction);
  if (faults.take('nonce_too_low') !== undefined)
    return refuse(response, 409, 'nonce_too_low', 'the nonce was used already');
  if (faults.take('unknown_transaction') !== undefined)
    return refuse(response, 404, 'unknown_transaction', 'the transaction is not known');
  const silence = faults.take('accept_then_timeout');
  if (silence !== undefined) {
    const timer = setTimeout(() => response.destroy(), silence.delay_ms);
    response.once('close', () => clearTimeout(timer));
    return;
  }
  if ('refused' in result) refuse(response, STATUS[result.refused], result.refused, result.message);
  else response.json({ transaction_hash: result.hash });
}

/** Submits a transfer of one base unit with the mint authority's key, as a person might. */
function takeNonce(node: CltNode, nonce: number): void {
  const { mint_authority: mintAuthority, faucet } = node.genesis.cast;
  const call = {
    function_call_type: 'Transfer',
    arguments: { to: faucet.address, amount: 1n },
  } as const;
  const raw = signCall(mintAuthority, node.chain.parameters.chain_id, nonce, call);
  node.enqueue(verifiedByUs(raw, mintAuthority.address));
}

/** The admin port's routes for the CLT chain, for tests and for trying things out. */
import type { Response } from 'express';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import { parseAmount } from '../../../schemas/money.ts';
import type { Block, SealedBlock } from '../clt/block.ts';
import type { FunctionCall } from '../../../schemas/function-call.ts';
import { signCall, type Key } from '../clt/keys.ts';
import type { CltNode } from '../clt/node.ts';
import { makeBulkBlock, type Traffic } from '../traffic/traffic.ts';
import { bodyFields, isInteger, refuse, refuseBody, type Routes } from './app.ts';
import type { Metrics } from './metrics.ts';

interface AdminParts {
  readonly node: CltNode;
  readonly enableBlocks: (enabled: boolean) => void;
  readonly traffic: Traffic;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly random: () => number;
}

const TRAFFIC_PER_SECOND_MAX = 500;
/** Base units for a new mint authority, which has to pay fees. */
const AUTHORITY_ALLOWANCE = 1_000_000_000n;
/** The body of `/status`: the devnet is ready once it listens. */
const STATUS = { status: 'ready', phase: 'serving', waits_for: null, eta_s: null, message: null };

export function adminRoutes({
  node,
  enableBlocks,
  traffic,
  metrics,
  now,
  random,
}: AdminParts): Routes {
  const { block_transactions_max, chain_id } = node.chain.parameters;
  let lastBulk: Promise<unknown> = Promise.resolve();
  /** Bulk blocks are made one at a time, since they share an account and its nonces. */
  const nextBulkBlock = (count: number): Promise<Block> => {
    const make = (): Promise<Block> => makeBulkBlock(node, count, now);
    const making = lastBulk.then(make, make);
    lastBulk = making;
    return making;
  };
  /** Submits a call signed with a key of the devnet, at its next nonce. */
  const send = (key: Key, call: FunctionCall): ReturnType<CltNode['submit']> =>
    node.submit(signCall(key, chain_id, node.chain.mempool.account(key.address).nonce, call));
  const sendMetrics = async (response: Response): Promise<void> => {
    response.setHeader('content-type', metrics.registry.contentType);
    response.end(await metrics.registry.metrics());
  };

  return (app) => {
    app.get('/health', (_request, response) => response.json({ status: 'ok' }));
    app.get('/ready', (_request, response) => response.json({ status: 'ready' }));
    app.get('/status', (_request, response) => response.json(STATUS));
    app.get('/metrics', (_request, response) => sendMetrics(response));

    app.post('/admin/clt/fund', (request, response) => {
      const { faucet } = node.genesis.cast;
      const args = payment(request.body);
      if (args === undefined) return refuseBody(response, PAYMENT);
      answer(response, send(faucet, { function_call_type: 'Transfer', arguments: args }));
    });

    // with the first mint authority's key, behind the back of the treasury
    app.post('/admin/clt/mint', (request, response) => {
      const { mint_authority } = node.genesis.cast;
      const args = payment(request.body);
      if (args === undefined) return refuseBody(response, PAYMENT);
      const call = { function_call_type: 'Mint', arguments: { ...args, reference: null } } as const;
      answer(response, send(mint_authority, call));
    });

    // the new authority's key stays with the caller; the faucet pays for its fees
    app.post('/admin/clt/authority', (request, response) => {
      const address = addressIn(request.body, 'address');
      if (address === undefined) return refuseBody(response, '{"address": 0x + 40 hex digits}');
      const { from_height } = node.rotateAuthority(address);
      const args = { to: address, amount: AUTHORITY_ALLOWANCE };
      const paid = send(node.genesis.cast.faucet, {
        function_call_type: 'Transfer',
        arguments: args,
      });
      if ('refused' in paid) refuse(response, 409, paid.refused, paid.message);
      else response.json({ mint_authority: address, from_height });
    });

    app.post('/admin/clt/fees', (request, response) => {
      const { recorded } = bodyFields(request.body);
      if (typeof recorded !== 'boolean') return refuseBody(response, '{"recorded": true or false}');
      node.chain.hideFees(!recorded);
      response.json({ recorded });
    });

    app.post('/admin/clt/block', async (request, response) => {
      const count = bodyFields(request.body)['transactions'] ?? 0;
      if (!isInteger(count, 0, block_transactions_max)) {
        const range = `an integer from 0 to ${block_transactions_max}`;
        return refuseBody(response, `{"transactions": ${range}}, or no body`);
      }
      const { height, hash, transactions } =
        count === 0 ? node.produce(now()) : await nextBulkBlock(count);
      response.json({ height, hash, transactions: transactions.length });
    });

    app.post('/admin/clt/reorg', (request, response) => {
      const { depth } = bodyFields(request.body);
      if (!isInteger(depth, 1, Number.MAX_SAFE_INTEGER))
        return refuseBody(response, '{"depth": an integer from 1}');
      const result = node.reorganise(depth, now(), random);
      if ('refused' in result) refuse(response, 409, result.refused, result.message);
      else
        response.json({ removed: result.removed.map(summary), added: result.added.map(summary) });
    });

    app.post('/admin/clt/auto', (request, response) => {
      const { enabled } = bodyFields(request.body);
      if (typeof enabled !== 'boolean') return refuseBody(response, '{"enabled": true or false}');
      enableBlocks(enabled);
      response.json({ enabled });
    });

    app.post('/admin/traffic', (request, response) => {
      const { transactions_per_second: transactionsPerSecond } = bodyFields(request.body);
      if (
        typeof transactionsPerSecond !== 'number' ||
        transactionsPerSecond < 0 ||
        transactionsPerSecond > TRAFFIC_PER_SECOND_MAX
      ) {
        const range = `a number from 0 to ${TRAFFIC_PER_SECOND_MAX}`;
        return refuseBody(response, `{"transactions_per_second": ${range}}`);
      }
      traffic.setRate(transactionsPerSecond);
      response.json({ transactions_per_second: transactionsPerSecond });
    });
  };
}

function summary({ height, hash }: SealedBlock): object {
  return { height, hash };
}

const PAYMENT = '{"to": 0x + 40 hex digits, "amount": base units above 0 as text}';

function payment(body: unknown): { readonly to: string; readonly amount: bigint } | undefined {
  const to = addressIn(body, 'to');
  const { amount: text } = bodyFields(body);
  const amount = typeof text === 'string' ? parseAmount(text) : undefined;
  return to === undefined || amount === undefined || amount === 0n ? undefined : { to, amount };
}

function addressIn(body: unknown, field: string): string | undefined {
  const text = bodyFields(body)[field];
  const address = typeof text === 'string' ? parseAddress(text) : undefined;
  return address && toHex(address);
}

function answer(response: Response, result: ReturnType<CltNode['submit']>): void {
  if ('refused' in result) refuse(response, 409, result.refused, result.message);
  else response.json({ transaction_hash: result.hash });
}

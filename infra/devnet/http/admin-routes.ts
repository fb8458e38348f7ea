/** The admin port's routes for the CLT chain, for tests and for trying things out. */
import type { Response } from 'express';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import { parseAmount } from '../../../schemas/money.ts';
import type { Block, SealedBlock } from '../clt/block.ts';
import { signCall } from '../clt/keys.ts';
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
  /** One at a time: bulk blocks share an account and its nonces. */
  const nextBulkBlock = (count: number): Promise<Block> => {
    const make = (): Promise<Block> => makeBulkBlock(node, count, now);
    const making = lastBulk.then(make, make);
    lastBulk = making;
    return making;
  };
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
      const body = bodyFields(request.body);
      const to = typeof body['to'] === 'string' ? parseAddress(body['to']) : undefined;
      const amount = typeof body['amount'] === 'string' ? parseAmount(body['amount']) : undefined;
      if (to === undefined || amount === undefined || amount === 0n)
        return refuseBody(
          response,
          '{"to": 0x + 40 hex digits, "amount": base units above 0 as text}',
        );
      const { faucet } = node.genesis.cast;
      const nonce = node.chain.mempool.account(faucet.address).nonce;
      const result = node.submit(
        signCall(faucet, chain_id, nonce, {
          function_call_type: 'Transfer',
          arguments: { to: toHex(to), amount },
        }),
      );
      if ('refused' in result) refuse(response, 409, result.refused, result.message);
      else response.json({ transaction_hash: result.hash });
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
      const { transactions_per_second: rate } = bodyFields(request.body);
      if (typeof rate !== 'number' || rate < 0 || rate > TRAFFIC_PER_SECOND_MAX) {
        const range = `a number from 0 to ${TRAFFIC_PER_SECOND_MAX}`;
        return refuseBody(response, `{"transactions_per_second": ${range}}`);
      }
      traffic.setRate(rate);
      response.json({ transactions_per_second: rate });
    });
  };
}

function summary({ height, hash }: SealedBlock): object {
  return { height, hash };
}

/** The admin port, CLT half: what tests and people who try things out do to the devnet. */
import type { Express, Request, Response } from 'express';
import { parseAddress, toHex } from '../../schemas/address.ts';
import { parseAmount } from '../../schemas/money.ts';
import { makeBulkBlock } from './bulk.ts';
import type { Block, SealedBlock } from './clt/block.ts';
import { signCall } from './clt/keys.ts';
import type { CltNode } from './clt/node.ts';
import { answer, refuse } from './http.ts';
import { fields, invalid, isInteger } from './json-body.ts';
import type { Metrics } from './metrics.ts';
import type { Producer } from './producer.ts';
import type { Traffic } from './traffic/traffic.ts';

export interface AdminParts {
  readonly node: CltNode;
  readonly producer: Producer;
  readonly traffic: Traffic;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly random: () => number;
}

/** The devnet serves once it listens: the body of `/status` in the shape of every service. */
const STATUS = { status: 'ready', phase: 'serving', waits_for: null, eta_s: null, message: null };

export const TRAFFIC_PER_SECOND_MAX = 500;

export function adminRoutes({
  node,
  producer,
  traffic,
  metrics,
  now,
  random,
}: AdminParts): (app: Express) => void {
  const { block_transactions_max, chain_id } = node.chain.parameters;
  let lastBulk: Promise<unknown> = Promise.resolve();

  const figures = async (response: Response): Promise<void> => {
    response.setHeader('content-type', metrics.registry.contentType);
    response.end(await metrics.registry.metrics());
  };
  /** One at a time, since they share an account: the next begins however the last one ended. */
  const afterLastBulk = (count: number): Promise<Block> => {
    const make = (): Promise<Block> => makeBulkBlock(node, count, now);
    const making = lastBulk.then(make, make);
    lastBulk = making;
    return making;
  };
  const makeBlock = async (request: Request, response: Response): Promise<void> => {
    const count = fields(request.body)['transactions'] ?? 0;
    if (!isInteger(count, 0, block_transactions_max)) {
      invalid(
        response,
        `{"transactions": an integer from 0 to ${block_transactions_max}}, or no body`,
      );
      return;
    }
    const { height, hash, transactions } =
      count === 0 ? node.produce(now()) : await afterLastBulk(count);
    answer(response, { height, hash, transactions: transactions.length });
  };

  return (app) => {
    app.get('/health', (_request, response) => answer(response, { status: 'ok' }));
    app.get('/ready', (_request, response) => answer(response, { status: 'ready' }));
    app.get('/status', (_request, response) => answer(response, STATUS));
    app.get('/metrics', (_request, response) => figures(response));

    app.post('/admin/clt/fund', (request, response) => {
      const body = fields(request.body);
      const to = typeof body['to'] === 'string' ? parseAddress(body['to']) : undefined;
      const amount = typeof body['amount'] === 'string' ? parseAmount(body['amount']) : undefined;
      if (to === undefined || amount === undefined || amount === 0n) {
        invalid(
          response,
          '{"to": "0x + 40 hex digits", "amount": "base units above zero, decimal text"}',
        );
        return;
      }
      const { faucet } = node.genesis.cast;
      const nonce = node.chain.mempool.account(faucet.address).nonce;
      const result = node.submit(
        signCall(faucet, chain_id, nonce, {
          function_call_type: 'Transfer',
          arguments: { to: toHex(to), amount },
        }),
      );
      if ('refused' in result) refuse(response, 409, result.refused, result.message);
      else answer(response, { transaction_hash: result.hash });
    });

    app.post('/admin/clt/block', (request, response) => makeBlock(request, response));

    app.post('/admin/clt/reorg', (request, response) => {
      const { depth } = fields(request.body);
      if (!isInteger(depth, 1, Number.MAX_SAFE_INTEGER)) {
        invalid(response, '{"depth": an integer from 1}');
        return;
      }
      const result = node.reorganise(depth, now(), random);
      if ('refused' in result) {
        refuse(response, 409, result.refused, result.message);
        return;
      }
      answer(response, { removed: result.left.map(nameOf), added: result.blocks.map(nameOf) });
    });

    app.post('/admin/clt/auto', (request, response) => {
      const { enabled } = fields(request.body);
      if (typeof enabled !== 'boolean') {
        invalid(response, '{"enabled": true or false}');
        return;
      }
      producer.enable(enabled);
      answer(response, { enabled });
    });

    app.post('/admin/traffic', (request, response) => {
      const { transactions_per_second } = fields(request.body);
      const within = typeof transactions_per_second === 'number' && transactions_per_second >= 0;
      if (!within || transactions_per_second > TRAFFIC_PER_SECOND_MAX) {
        invalid(
          response,
          `{"transactions_per_second": a number from 0 to ${TRAFFIC_PER_SECOND_MAX}}`,
        );
        return;
      }
      traffic.setRate(transactions_per_second);
      answer(response, { transactions_per_second });
    });
  };
}

function nameOf({ height, hash }: SealedBlock): { readonly height: number; readonly hash: string } {
  return { height, hash };
}

/** The node's HTTP contract. Amounts are decimal text, hashes and addresses 0x + lower-case hex. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Express, Request, Response } from 'express';
import { parseRawText } from '../../schemas/raw-transaction.ts';
import { refuse } from './http.ts';
import type { Faults } from './faults.ts';
import { NodeReads } from './node-reads.ts';
import { submitted } from './node-submit.ts';
import type { CltNode } from './clt/node.ts';

export function nodeRoutes(
  node: CltNode,
  faults: Faults,
  now: () => number,
): (app: Express) => void {
  const reads = new NodeReads(node, faults, now);
  return (app) => {
    app.use(async (_request, response, next) => {
      if (await isUp(faults, response)) next();
    });
    app.get('/v1/chain', (_request, response) => reads.chain(response));
    app.get('/v1/blocks', (request, response) => reads.blocks(request, response));
    app.get('/v1/blocks/:height', (request, response) => reads.block(request, response));
    app.get('/v1/accounts/:address', (request, response) => reads.account(request, response));
    app.post('/v1/transactions', (request, response) => submit(node, faults, request, response));
  };
}

/** False when a fault of the whole node has answered, or has cut the connection. */
async function isUp(faults: Faults, response: Response): Promise<boolean> {
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

function submit(node: CltNode, faults: Faults, request: Request, response: Response): void {
  const text = rawTransaction(request.body);
  if (text === undefined) {
    refuse(response, 400, 'invalid_request', 'the body is JSON {"raw_transaction": "0x.."}');
    return;
  }
  const parsed = parseRawText(text);
  if (!('refused' in parsed)) submitted(node, faults, parsed.raw, response);
  else if (parsed.refused === 'too_large')
    refuse(response, 413, 'too_large', 'raw_transaction is at most 128 KiB');
  else refuse(response, 400, 'invalid_transaction', 'raw_transaction is not hex');
}

function rawTransaction(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('raw_transaction' in body)) return undefined;
  return typeof body.raw_transaction === 'string' ? body.raw_transaction : undefined;
}

/** The admin port, TRON half: what tests and people who try things out do to the network. */
import type { Express, Response } from 'express';
import { answer, refuse } from '../http.ts';
import { fields, invalid } from '../json-body.ts';
import type { BlockReference } from './chain.ts';
import type { Submission, TronNetwork, TronRefusal } from './network.ts';
import type { RequestCounter } from './requests.ts';
import type { SubmissionDefaults } from './submission.ts';
import { TRANSFER_EXPECTED, parseSubmission } from './submission.ts';
import { base58Of } from './wire.ts';

export interface TronAdminParts {
  readonly tron: TronNetwork;
  readonly requests: RequestCounter;
  readonly now: () => number;
}

const BLOCK_TRANSFERS_MAX = 5_000;

export function tronAdminRoutes({ tron, requests, now }: TronAdminParts): (app: Express) => void {
  const { holder, usdt_contract } = tron.chain.genesis;
  const defaults: SubmissionDefaults = { holder, usdt_contract, multisender: tron.multisender };

  /** The ids; undefined when it was refused and has been answered. */
  const submitted = (
    response: Response,
    submissions: readonly Submission[],
  ): readonly string[] | undefined => {
    const ids = tron.submit(submissions);
    if (!('refused' in ids)) return ids;
    refuseFor(response, ids);
    return undefined;
  };

  return (app) => {
    app.get('/admin/tron', (_request, response) => {
      answer(response, {
        head: nameOf(tron.chain.head),
        solidified: nameOf(tron.chain.solidified),
        usdt_contract: base58Of(usdt_contract),
        holder: base58Of(holder),
      });
    });

    app.post('/admin/tron/transfers', (request, response) => {
      const parsed = parseSubmission(request.body, defaults);
      if ('problem' in parsed) {
        invalid(response, `${TRANSFER_EXPECTED}. ${parsed.problem}`);
        return;
      }
      const [transaction_id] = submitted(response, [parsed.value]) ?? [];
      if (transaction_id === undefined) return;
      if (parsed.value.solidified === 'now') tron.solidify(transaction_id, now());
      answer(response, { transaction_id });
    });

    app.post('/admin/tron/block', (request, response) => {
      const { transfers = [] } = fields(request.body);
      if (!Array.isArray(transfers) || transfers.length > BLOCK_TRANSFERS_MAX) {
        invalid(
          response,
          `{"transfers"?: a list of at most ${BLOCK_TRANSFERS_MAX}, each as for /admin/tron/transfers}`,
        );
        return;
      }
      const submissions: Submission[] = [];
      for (const [index, transfer] of transfers.entries()) {
        const parsed = parseSubmission(transfer, defaults);
        if ('problem' in parsed) {
          invalid(
            response,
            `{"transfers": [${TRANSFER_EXPECTED}]}. transfers[${index}]: ${parsed.problem}`,
          );
          return;
        }
        submissions.push(parsed.value);
      }
      const transaction_ids = submitted(response, submissions);
      if (transaction_ids === undefined) return;
      const block = tron.produce(now());
      const atOnce = transaction_ids.find((_id, index) => submissions[index]?.solidified === 'now');
      if (atOnce !== undefined) tron.solidify(atOnce, now());
      answer(response, {
        block_number: block.number,
        block_timestamp: block.timestamp,
        transaction_ids,
      });
    });

    app.post('/admin/tron/solidify', (request, response) => {
      const { transaction_id } = fields(request.body);
      if (transaction_id !== undefined && !isTransactionId(transaction_id)) {
        invalid(
          response,
          '{"transaction_id"?: 64 hex digits; without it all that is not solidified}',
        );
        return;
      }
      const solidified = tron.solidify(transaction_id?.toLowerCase(), now());
      if ('refused' in solidified) refuseFor(response, solidified);
      else answer(response, { solidified: nameOf(solidified) });
    });

    app.post('/admin/tron/drop', (request, response) => {
      const { transaction_id } = fields(request.body);
      if (!isTransactionId(transaction_id)) {
        invalid(
          response,
          '{"transaction_id": 64 hex digits of a transaction that is not solidified}',
        );
        return;
      }
      const refusal = tron.drop(transaction_id.toLowerCase());
      if (refusal === undefined) answer(response, { transaction_id: transaction_id.toLowerCase() });
      else refuseFor(response, refusal);
    });

    app.get('/admin/tron/requests', (_request, response) => answer(response, requests.figures()));
    app.delete('/admin/tron/requests', (_request, response) => {
      requests.reset();
      answer(response, requests.figures());
    });
  };
}

function refuseFor(response: Response, { refused, message }: TronRefusal): void {
  refuse(response, refused === 'not_found' ? 404 : 409, refused, message);
}

function nameOf({ number, timestamp }: BlockReference): {
  readonly number: number;
  readonly timestamp: number;
} {
  return { number, timestamp };
}

function isTransactionId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value);
}

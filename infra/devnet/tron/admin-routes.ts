/** The admin port's routes for the TRON network, for tests and for trying things out. */
import type { Response } from 'express';
import { parseAmount } from '../../../schemas/money.ts';
import { bodyFields, isInteger, refuse, refuseBody, type Routes } from '../http/app.ts';
import type { BlockReference } from './chain.ts';
import type { Submission, TronNetwork, TronRefusal } from './network.ts';
import type { ApiKeys, RequestCounter } from './provider.ts';
import { TRANSFER_EXPECTED, parseSubmission, type SubmissionDefaults } from './submission.ts';
import { addressDigits, type TokenRules } from './transaction.ts';
import { base58Of } from './wire.ts';

interface TronAdminParts {
  readonly tron: TronNetwork;
  readonly requests: RequestCounter;
  readonly keys: ApiKeys;
  readonly now: () => number;
}

const BLOCK_TRANSFERS_MAX = 5_000;
const BLOCKED_MAX = 1_000;
const TOKEN_EXPECTED =
  '{"paused"?: true or false, "deprecated"?: true or false, "fee_basis_points"?: 0 to 10000, "maximum_fee"?: base units as decimal text, ' +
  `"blocked"?: all addresses that are blocked, at most ${BLOCKED_MAX}}; what is not given stays`;

const KEYS_EXPECTED = '{"keys": all API keys that are accepted from then on}';

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

export function tronAdminRoutes({ tron, requests, keys, now }: TronAdminParts): Routes {
  const { holder, usdt_contract } = tron.chain.genesis;
  const defaults: SubmissionDefaults = { holder, usdt_contract, multisender: tron.multisender };

  return (app) => {
    app.get('/admin/tron', (_request, response) => {
      response.json({
        head: summary(tron.chain.head),
        solidified: summary(tron.chain.solidified),
        usdt_contract: base58Of(usdt_contract),
        holder: base58Of(holder),
        token: tokenJson(tron.chain.token),
      });
    });

    app.post('/admin/tron/token', (request, response) => {
      const change = readToken(bodyFields(request.body));
      if (change === undefined) return refuseBody(response, TOKEN_EXPECTED);
      response.json(tokenJson(tron.setToken(change)));
    });

    app.post('/admin/tron/transfers', (request, response) => {
      const parsed = parseSubmission(request.body, defaults);
      if ('problem' in parsed)
        return refuseBody(response, `${TRANSFER_EXPECTED}. ${parsed.problem}`);
      const transaction_ids = tron.submit([parsed.value]);
      if ('refused' in transaction_ids) return refuseFor(response, transaction_ids);
      const [transaction_id] = transaction_ids;
      if (parsed.value.solidified === 'now') tron.solidify(transaction_id, now());
      response.json({ transaction_id });
    });

    app.post('/admin/tron/block', (request, response) => {
      const { transfers = [] } = bodyFields(request.body);
      if (!Array.isArray(transfers) || transfers.length > BLOCK_TRANSFERS_MAX)
        return refuseBody(
          response,
          `{"transfers"?: a list of at most ${BLOCK_TRANSFERS_MAX}, each as for /admin/tron/transfers}`,
        );
      const submissions: Submission[] = [];
      for (const [index, transfer] of transfers.entries()) {
        const parsed = parseSubmission(transfer, defaults);
        if ('problem' in parsed)
          return refuseBody(
            response,
            `{"transfers": [${TRANSFER_EXPECTED}]}. transfers[${index}]: ${parsed.problem}`,
          );
        submissions.push(parsed.value);
      }
      const transaction_ids = tron.submit(submissions);
      if ('refused' in transaction_ids) return refuseFor(response, transaction_ids);
      const block = tron.produce(now());
      const immediate = transaction_ids.find(
        (_id, index) => submissions[index]?.solidified === 'now',
      );
      if (immediate !== undefined) tron.solidify(immediate, now());
      response.json({
        block_number: block.number,
        block_timestamp: block.timestamp,
        transaction_ids,
      });
    });

    app.post('/admin/tron/solidify', (request, response) => {
      const { transaction_id } = bodyFields(request.body);
      if (transaction_id !== undefined && !isTransactionId(transaction_id))
        return refuseBody(
          response,
          '{"transaction_id"?: 64 hex digits; without it, every open transaction}',
        );
      const solidified = tron.solidify(transaction_id?.toLowerCase(), now());
      if ('refused' in solidified) refuseFor(response, solidified);
      else response.json({ solidified: summary(solidified) });
    });

    app.post('/admin/tron/drop', (request, response) => {
      const { transaction_id } = bodyFields(request.body);
      if (!isTransactionId(transaction_id))
        return refuseBody(response, '{"transaction_id": 64 hex digits of an open transaction}');
      const refusal = tron.drop(transaction_id.toLowerCase());
      if (refusal === undefined) response.json({ transaction_id: transaction_id.toLowerCase() });
      else refuseFor(response, refusal);
    });

    app.get('/admin/tron/keys', (_request, response) => response.json(keys.used()));
    app.post('/admin/tron/keys', (request, response) => {
      const accepted: unknown = bodyFields(request.body)['keys'];
      if (!isTexts(accepted)) return refuseBody(response, KEYS_EXPECTED);
      keys.accept(accepted);
      response.json({ keys: accepted });
    });

    app.get('/admin/tron/requests', (_request, response) => response.json(requests.counts()));
    app.delete('/admin/tron/requests', (_request, response) => {
      requests.reset();
      response.json(requests.counts());
    });
  };
}

function refuseFor(response: Response, { refused, message }: TronRefusal): void {
  refuse(response, refused === 'not_found' ? 404 : 409, refused, message);
}

function summary({ number, timestamp }: BlockReference): object {
  return { number, timestamp };
}

function isTransactionId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value);
}

function tokenJson({ maximum_fee, blocked, ...rules }: TokenRules): object {
  return { ...rules, maximum_fee: String(maximum_fee), blocked: blocked.map(base58Of) };
}

/** Undefined: a field is unknown or not as expected, or there is none. */
function readToken(fields: Readonly<Record<string, unknown>>): Partial<TokenRules> | undefined {
  const { paused, deprecated, fee_basis_points, maximum_fee, blocked, ...others } = fields;
  const fee = typeof maximum_fee === 'string' ? parseAmount(maximum_fee) : undefined;
  const addresses = addressesIn(blocked);
  const change: Partial<TokenRules> = {
    ...(typeof paused === 'boolean' ? { paused } : {}),
    ...(typeof deprecated === 'boolean' ? { deprecated } : {}),
    ...(isInteger(fee_basis_points, 0, 10_000) ? { fee_basis_points } : {}),
    ...(fee === undefined ? {} : { maximum_fee: fee }),
    ...(addresses === undefined ? {} : { blocked: addresses }),
  };
  const given = Object.values(fields).filter((value) => value !== undefined).length;
  const isWhole = Object.keys(change).length === given && Object.keys(others).length === 0;
  return given > 0 && isWhole ? change : undefined;
}

/** 40 hex digits each; undefined unless it is a list of addresses. */
function addressesIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > BLOCKED_MAX) return undefined;
  const read = value.flatMap((each: unknown) =>
    typeof each === 'string' ? (addressDigits(each) ?? []) : [],
  );
  return read.length === value.length ? [...new Set(read)] : undefined;
}

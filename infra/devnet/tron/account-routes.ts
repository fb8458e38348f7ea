/** TronGrid's list of an account's TRC-20 transfers and approvals. */
import type { Request, Response } from 'express';
import type { Routes } from '../http/app.ts';
import type { TronChain } from './chain.ts';
import {
  compare,
  decodeFingerprint,
  encodeFingerprint,
  pageOf,
  type Fingerprint,
  type ListQuery,
  type ListedRow,
} from './listing.ts';
import { refuseV1, type Provider } from './provider.ts';
import { addressDigits } from './transaction.ts';
import { rowJson } from './wire.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 200;
const PATH = '/v1/accounts/:address/transactions/trc20';

export function accountRoutes(chain: TronChain, provider: Provider): Routes {
  const { faults, now } = provider;

  const rowsFor = (query: ListQuery): readonly ListedRow[] => {
    const lag = faults.take('lag') ?? faults.take('list_lag');
    const solid = query.only_unconfirmed ? [] : chain.solidRows(query.account);
    const included = query.only_confirmed ? [] : chain.includedRows(query.account);
    const rows =
      included.length === 0
        ? solid
        : [...solid, ...included].toSorted((one, other) => compare(one.position, other.position));
    if (lag === undefined) return rows;
    const newest = chain.solidifiedAsOf(now() - lag.delay_ms).number;
    return rows.filter(({ position: [block] }) => block <= newest);
  };

  const list = (request: Request, response: Response): object | undefined => {
    const read = readQuery(request);
    if ('problem' in read) return refuseV1(response, 400, read.problem);
    const { query, fingerprint } = read;
    if (faults.take('empty') !== undefined) return listJson(now(), [], undefined);
    const isRepeated = faults.take('repeat') !== undefined;
    const after = isRepeated ? fingerprint?.before : fingerprint?.last;
    const { rows, fingerprint: next } = pageOf(rowsFor(query), query, after ?? null);
    const isFirst = fingerprint === undefined;
    const shown = isRepeated && isFirst ? rows.flatMap((row) => [row, row]) : rows;
    return listJson(now(), shown, next && linkTo(request, encodeFingerprint(next, query)));
  };

  return (app) => provider.route(app, 'get', PATH, list);
}

function listJson(at: number, rows: readonly ListedRow[], paging: object | undefined): object {
  const meta = { at, ...paging, page_size: rows.length };
  return { data: rows.map(rowJson), success: true, meta };
}

/** The link names a host that does not resolve: clients must not follow it. */
function linkTo(request: Request, fingerprint: string): object {
  const url = new URL(request.originalUrl, 'http://trongrid.invalid');
  url.searchParams.set('fingerprint', fingerprint);
  return { fingerprint, links: { next: url.href } };
}

function readQuery(
  request: Request,
): { query: ListQuery; fingerprint: Fingerprint | undefined } | { problem: string } {
  const account = addressDigits(String(request.params['address']));
  if (account === undefined) return { problem: 'A valid account address is required.' };
  const problems: string[] = [];
  const text = (name: string): string | undefined => {
    const value: unknown = request.query[name];
    if (value === undefined || typeof value === 'string') return value;
    problems.push(`${name} is given more than once`);
    return undefined;
  };
  const flag = (name: string): boolean => {
    const value = text(name);
    if (value !== undefined && value !== 'true' && value !== 'false')
      problems.push(`${name} must be true or false`);
    return value === 'true';
  };
  const integer = (name: string, absent: number, min: number, max: number): number => {
    const value = text(name) ?? String(absent);
    const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    problems.push(`${name} must be an integer from ${min} to ${max}`);
    return absent;
  };
  const contractText = text('contract_address');
  const contract = contractText === undefined ? undefined : addressDigits(contractText);
  if (contractText !== undefined && contract === undefined)
    problems.push('contract_address must be an address');
  const order = text('order_by') ?? 'block_timestamp,desc';
  const [, direction] = /^block_timestamp,(asc|desc)$/.exec(order) ?? [];
  if (direction === undefined)
    problems.push('order_by must be block_timestamp,asc or block_timestamp,desc');
  const query: ListQuery = {
    account,
    only_confirmed: flag('only_confirmed'),
    only_unconfirmed: flag('only_unconfirmed'),
    only_to: flag('only_to'),
    only_from: flag('only_from'),
    contract,
    limit: integer('limit', LIMIT_DEFAULT, 1, LIMIT_MAX),
    ascending: direction === 'asc',
    min_timestamp: integer('min_timestamp', 0, 0, Number.MAX_SAFE_INTEGER),
    max_timestamp: integer('max_timestamp', Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER),
  };
  const given = text('fingerprint');
  const fingerprint = given === undefined ? undefined : decodeFingerprint(given, query);
  if (given !== undefined && fingerprint === undefined)
    problems.push('fingerprint is not one of this query: send all other parameters unchanged');
  const [problem] = problems;
  return problem === undefined ? { query, fingerprint } : { problem };
}

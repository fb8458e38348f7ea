/**
 * Exports of an explorer whose chain moves: complete and of the chain in their headers, or broken
 * off by a reorganisation.
 */
import { activityLabel } from '../../../services/explorer-gateway/routes/json.ts';
import {
  fieldsOf,
  plainExportedActivity,
  plainExportedTransactions,
  readCsv,
} from '../../projections/explorer/plain-exports.ts';
import { EXPLORER } from '../../support/openapi.ts';
import { plainOf, type ChainState } from './storm-chain.ts';

export interface ExportQuestion {
  readonly of: 'transactions' | 'activity';
  readonly format: 'csv' | 'ndjson';
  readonly from: number;
  /** a final height; none: up to the newest */
  readonly to?: number;
  readonly address?: Buffer;
  readonly type?: string;
}

export interface Exported {
  readonly path: string;
  readonly status: number | undefined;
  /** the last block, `0x..` */
  readonly end: string | null;
  /** undefined: it broke off */
  readonly text: string | undefined;
}

export async function askExport(
  url: string,
  { of, format, from, to, address, type }: ExportQuestion,
): Promise<Exported> {
  const query = new URLSearchParams({
    from_height: String(from),
    ...(to === undefined ? {} : { to_height: String(to) }),
    ...(address === undefined ? {} : { address: address.toString('hex') }),
    ...(type === undefined ? {} : { type }),
  });
  const path = `/api/v1/export/${of}.${format}?${query.toString()}`;
  const response = await fetch(url + path).catch(brokenOff);
  if (response === undefined) return { path, status: undefined, end: null, text: undefined };
  const { status, headers } = response;
  const text = await response.text().catch(brokenOff);
  if (text !== undefined) EXPLORER.checkAnswer('GET', path, { status, text, headers });
  return { path, status, end: headers.get('x-clt-to-hash'), text };
}

/** A reset may overtake the head of the answer. */
function brokenOff(error: unknown): undefined {
  if (!(error instanceof TypeError && ['terminated', 'fetch failed'].includes(error.message)))
    throw error;
}

/** The error in an export made during these states of the chain; undefined: none. */
export function exportMatter(
  asked: ExportQuestion,
  { status, end, text }: Exported,
  states: readonly ChainState[],
): string | undefined {
  if (status === undefined)
    return asked.to === undefined && isReorganised(states)
      ? undefined
      : 'broke off without a reorganisation';
  if (status !== 200) return `answered ${status}: ${text}`;
  const heldIn = states.filter(({ blocks }) =>
    blocks.some(({ plain }) => `0x${plain.hash.toString('hex')}` === end),
  );
  const [state] = heldIn;
  if (state === undefined) return 'its head names a block that was not there';
  if (text === undefined)
    return heldIn.length < states.length && asked.to === undefined
      ? undefined
      : 'broke off without a reorganisation';
  const { of, format, from, address, type } = asked;
  const to = state.blocks.findIndex(({ plain }) => `0x${plain.hash.toString('hex')}` === end);
  if (asked.to !== undefined && asked.to !== to) return `ends at ${to} instead of ${asked.to}`;
  const filter = { from, to, ...(address && { address }), ...(type !== undefined && { type }) };
  const blocks = plainOf(state);
  const items =
    of === 'transactions'
      ? plainExportedTransactions(blocks, filter)
      : plainExportedActivity(blocks, filter, activityLabel);
  if (format === 'ndjson')
    return text === items.map((item) => `${item}\n`).join('') ? undefined : 'holds other items';
  const [, ...records] = readCsv(text);
  const wanted = items.map((item) => Array.from(fieldsOf(item).values()));
  return JSON.stringify(records) === JSON.stringify(wanted) ? undefined : 'holds other records';
}

function isReorganised(states: readonly ChainState[]): boolean {
  return states.some(({ blocks }, at) => blocks.length < (states[at - 1]?.blocks.length ?? 0));
}

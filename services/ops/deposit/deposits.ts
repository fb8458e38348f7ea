/** `ops deposit list` and `show`. */
import {
  byStatus,
  depositById,
  eventsById,
  heldBelow,
  idsFrom,
  TWO_OPERATORS_ABOVE,
} from '../../../projections/deposits/queries.ts';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { byteaBytes, byteaDigits, byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { POSTGRES_READER, readSettings } from '../config.ts';
import { jsonOf, note, print, withReader } from '../connections.ts';
import { coloured, minute, money, printPaged, table, wrapped } from '../text.ts';
import { DUST } from '../../treasury/reconciliation/settings.ts';
import { count, Misuse, span, usd, type SharedArguments } from '../usage.ts';

const LIST_MAX = 10_000;
const PAGE_MAX = 100;
/** Details of an event that are micro-USDT. */
const AMOUNTS = new Set(['gross', 'fee', 'credit']);

/** Which deposits are meant. */
export interface FilterArguments {
  readonly account?: string | undefined;
  readonly above?: string | undefined;
  readonly below?: string | undefined;
  readonly 'hold-reason'?: string | undefined;
  readonly 'older-than'?: string | undefined;
}

const FILTERS = ['account', 'above', 'below', 'hold-reason', 'older-than'] as const;

interface ListArguments extends SharedArguments, FilterArguments {
  readonly status: string;
  readonly rejected?: boolean | undefined;
  readonly cursor?: string | undefined;
  readonly limit: string;
}

export async function listDeposits(args: ListArguments): Promise<number> {
  if (args.rejected === true && args.status !== 'needs_manual')
    throw new Misuse('--rejected lists rejected deposits, whose status is needs_manual');
  const status = args.rejected === true ? 'rejected' : args.status;
  const limit = count('--limit', args.limit, LIST_MAX);
  const isWanted = filterOf(args);
  const { dust_below, ...settings } = readSettings({ ...POSTGRES_READER, ...DUST }, args.stack);
  const below = args.cursor === undefined ? undefined : BigInt(count('--cursor', args.cursor));
  // a person is shown the others first; a script gets what it asks for
  const isGrouped = status === 'needs_manual' && args.json !== true && !isFiltered(args);
  const least = isGrouped ? dust_below : 0n;
  const [{ deposits, has_more }, dust] = await withReader(settings, async (reader) => [
    await readDeposits(reader, { status, limit, below, isWanted, least }),
    await readDust(reader, least),
  ]);
  if (args.json === true) print(jsonOf(deposits));
  else printPaged(listText(deposits, status));
  if (has_more) note(`there are more: --cursor ${deposits.at(-1)?.cursor}`, args);
  if (dust.deposits > 0)
    note(
      `and ${dust.deposits} of less than ${money(least)} USDT, together ${money(dust.amount)} USDT: --below ${money(least)}`,
    );
  return 0;
}

/** Deposits of less than this many micro-USDT that wait for a person. */
export async function readDust(
  reader: Reader,
  below: bigint,
): Promise<{ readonly deposits: number; readonly amount: bigint }> {
  const [row] = below === 0n ? [] : await reader.rows(heldBelow(below));
  return { deposits: Number(row?.[0] ?? 0), amount: BigInt(row?.[1] ?? 0) };
}

export function isFiltered(args: FilterArguments): boolean {
  return FILTERS.some((name) => args[name] !== undefined);
}

interface ListOptions {
  /** a status of the deposits interface, or `rejected` */
  readonly status: string;
  readonly limit: number;
  /** deposits before this cursor */
  readonly below?: bigint | undefined;
  readonly isWanted?: (deposit: Listed) => boolean;
  /** deposits of at least so many micro-USDT */
  readonly least?: bigint;
}

/** The newest first. */
export async function readDeposits(
  reader: Reader,
  { status, limit, below: from, isWanted = () => true, least = 0n }: ListOptions,
): Promise<{ readonly deposits: readonly Listed[]; readonly has_more: boolean }> {
  const ledger = await reader.rows(TWO_OPERATORS_ABOVE);
  const two_above = BigInt(ledger[0]?.[0] ?? 0);
  const found: Listed[] = [];
  for (let below = from; ;) {
    const rows = await reader.rows(byStatus(status, { limit: PAGE_MAX, below, least }));
    for (const cells of rows) {
      const deposit = withApprovals(cells, two_above);
      if (!isWanted(deposit)) continue;
      if (found.length === limit) return { deposits: found, has_more: true };
      found.push(deposit);
    }
    if (rows.length < PAGE_MAX) return { deposits: found, has_more: false };
    below = BigInt(rows.at(-1)?.[11] ?? 0);
  }
}

/** The part of a deposit that the filters look at. */
export type Filtered = Pick<Listed, 'clt_address' | 'amount_usdt' | 'reason' | 'created_at'>;

export function filterOf({
  account,
  above,
  below,
  'hold-reason': held,
  'older-than': older,
}: FilterArguments): (deposit: Filtered) => boolean {
  const owner = account === undefined ? undefined : parseAddress(account);
  if (account !== undefined && owner === undefined)
    throw new Misuse(`--account is an address of CLT: 0x and 40 hex digits, not "${account}"`);
  const address = owner === undefined ? undefined : toHex(owner);
  const more = above === undefined ? undefined : usd('--above', above);
  const less = below === undefined ? undefined : usd('--below', below);
  const until = older === undefined ? undefined : Date.now() - span('--older-than', older);
  return ({ clt_address, amount_usdt, reason, created_at }) =>
    (address === undefined || clt_address === address) &&
    (more === undefined || BigInt(amount_usdt) > more) &&
    (less === undefined || BigInt(amount_usdt) < less) &&
    (held === undefined || reason === held) &&
    (until === undefined || Date.parse(created_at) < until);
}

export interface IdArguments extends SharedArguments {
  readonly id: string;
}

export async function showDeposit(args: IdArguments): Promise<number> {
  const begin = readBeginning(args);
  const settings = readSettings(POSTGRES_READER, args.stack);
  const deposit = await withReader(settings, async (reader) =>
    readDeposit(reader, await wholeId(reader, begin)),
  );
  if (deposit === undefined) return missing();
  print(args.json === true ? jsonOf(deposit) : showText(deposit));
  return 0;
}

/** A deposit with every event; undefined where there is none of this id. */
export async function readDeposit(
  reader: Reader,
  id: string,
): Promise<ReturnType<typeof shown> | undefined> {
  const [cells] = await reader.rows(depositById(id));
  return cells === undefined ? undefined : shown(cells, await reader.rows(eventsById(id)));
}

/** A decision needs the whole id: a beginning may name another deposit tomorrow. */
export function readId(id: string): string {
  const parsed = parseDepositId(id);
  if (parsed === undefined)
    throw new Misuse(
      'that is no id of a deposit: they look like 6db65fd5-9fd3-86f6-b291-40571b5bcd6b; `ops deposit show` takes the beginning of one and shows the whole',
    );
  return parsed;
}

const SHORT_ID = 8;

function readBeginning({ id }: IdArguments): string {
  const begin = id.toLowerCase();
  return begin.length >= SHORT_ID && /^[-0-9a-f]+$/.test(begin) ? begin : readId(id);
}

/** The id that begins so: `deposit list` shows 8 digits. Throws `Misuse` unless it is one. */
async function wholeId(reader: Reader, begin: string): Promise<string> {
  const rows = await reader.rows(idsFrom(begin));
  const [id, another] = rows.flatMap(([each]) => (each?.startsWith(begin) === true ? [each] : []));
  if (another !== undefined)
    throw new Misuse(`several deposits begin with ${begin}: give more digits`, 'ambiguous');
  return id ?? missing();
}

function missing(): never {
  throw new Misuse(
    'there is no deposit with this id: `ops deposit list` shows ids, with --status those of every status',
    'no_such_deposit',
  );
}

/**
 * As JSON, with amounts in micro-USDT: the beginning of a row of `byStatus`, or of one of
 * `depositById` without its deposit address.
 */
function listed(cells: Cells) {
  const [id, clt, gross, fee, credit, status, reason, approved, rejected, created] = cells;
  return {
    id: id ?? '',
    clt_address: byteaHex(clt),
    amount_usdt: gross ?? '',
    fee_usdt: fee ?? '',
    credit_usdt: credit ?? '',
    status: status ?? '',
    reason: reason ?? null,
    approved: approved === 't',
    rejected: rejected === 't',
    created_at: isoTime(created),
  };
}

/** A row of `depositById` and the rows of `eventsById`. */
function shown([id = null, clt = null, address, ...cells]: Cells, events: readonly Cells[]) {
  const [txId, logIndex, nonce, hash] = cells.slice(8);
  return {
    ...listed([id, clt, ...cells]),
    deposit_address: toTronAddress(byteaBytes(address)),
    tron_tx_id: byteaDigits(txId),
    log_index: Number(logIndex),
    mint_nonce: nonce ?? null,
    mint_tx_hash: hexOrNull(hash),
    events: events.map(shownEvent),
  };
}

function shownEvent(cells: Cells) {
  const [event, at, reason, gross, fee, credit, hash, block_height, nonce, ...place] = cells;
  const [topic, partition, offset, actor] = place;
  const tx_hash = hexOrNull(hash);
  const given = { reason, actor, gross, fee, credit, nonce, tx_hash, block_height };
  const details = Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  return {
    event: event ?? '',
    at: isoTime(at),
    topic: topic ?? '',
    partition: Number(partition),
    offset: offset ?? '',
    /** fields of the event that have a value */
    details: Object.fromEntries(details),
  };
}

function hexOrNull(cell: Cells[number] | undefined): string | null {
  return typeof cell === 'string' ? byteaHex(cell) : null;
}

/** A row of `byStatus`; `above`: a credit above it needs two operators, 0: none does. */
function withApprovals(cells: Cells, above: bigint) {
  const deposit = listed(cells);
  const waits = deposit.status === 'needs_manual' && !deposit.rejected;
  const isForTwo = waits && above > 0n && BigInt(deposit.credit_usdt) > above;
  /** of the two that it waits for; null: it waits for one, or none */
  return { ...deposit, approvals: isForTwo ? Number(cells[10]) : null, cursor: cells[11] ?? '' };
}

export type Listed = ReturnType<typeof withApprovals>;

function listText(deposits: readonly Listed[], status: string): string {
  if (deposits.length === 0)
    return status === 'needs_manual'
      ? 'no deposit waits for a person'
      : `no deposit is ${status}, or none as asked for`;
  const rows = deposits.map((deposit) => [
    deposit.id.slice(0, SHORT_ID),
    minute(deposit.created_at),
    shortened(deposit.clt_address),
    money(deposit.amount_usdt),
    money(deposit.credit_usdt),
    deposit.reason ?? '',
    deposit.approvals === null ? '' : `${deposit.approvals} of 2`,
  ]);
  const headers = ['ID', 'CREATED (UTC)', 'ACCOUNT', 'ARRIVED USDT', 'CREDIT CLT'];
  return table([...headers, 'REASON', 'APPROVALS'], rows);
}

/** Beside the other columns, on a screen of 100. */
const DETAILS_WIDTH = 39;

/** The whole hashes are in the lines above the events. */
function detailText(name: string, value: string): string {
  if (AMOUNTS.has(name)) return money(value);
  return name === 'tx_hash' ? shortened(value) : value;
}

export function shortened(hex: string): string {
  return `${hex.slice(0, 8)}…${hex.slice(-6)}`;
}

function showText(deposit: ReturnType<typeof shown>): string {
  const { status, reason, approved, rejected, amount_usdt, fee_usdt, credit_usdt } = deposit;
  const words = [status, reason, approved ? 'approved' : null, rejected ? 'rejected' : null];
  const events = deposit.events.flatMap(({ event, at, topic, partition, offset, details }) => {
    const given = Object.entries(details).map(
      ([name, value]) => `${name} ${detailText(name, value)}`,
    );
    const [first = '', ...more] = wrapped(given, ', ', DETAILS_WIDTH);
    return [
      [at.slice(0, 19).replace('T', ' '), event, `${topic}/${partition}@${offset}`, first],
      ...more.map((line) => ['', '', '', line]),
    ];
  });
  return [
    `deposit      ${deposit.id}`,
    `status       ${coloured('bold', words.filter((word) => word !== null).join(', '))}`,
    `owner        ${deposit.clt_address}`,
    `address      ${deposit.deposit_address}`,
    `transaction  ${deposit.tron_tx_id}, log ${deposit.log_index}`,
    ...(deposit.mint_tx_hash === null
      ? []
      : [`mint         ${deposit.mint_tx_hash}, nonce ${deposit.mint_nonce}`]),
    `amounts      arrived ${money(amount_usdt)} USDT, fee ${money(fee_usdt)} USDT, credit ${money(credit_usdt)} CLT`,
    '',
    table(['AT (UTC)', 'EVENT', 'RECORD', 'DETAILS (USDT)'], events),
  ].join('\n');
}

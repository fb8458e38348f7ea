/** `ops deposit ...`. A decision is an event, hence part of the audit. */
import {
  byStatus,
  depositById,
  eventsById,
  TWO_OPERATORS_ABOVE,
} from '../../../projections/deposits/queries.ts';
import {
  approve,
  recordRefund,
  reject,
  release,
} from '../../../projections/deposits/domain/approval.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { parseHash } from '../../../schemas/address.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { byteaBytes, byteaDigits, byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { POSTGRES_READER, readSettings } from '../config.ts';
import { jsonOf, print, sixDecimals, withReader } from '../connections.ts';
import { decide, type DecisionArguments } from '../governance/decide.ts';
import { count, Misuse, usd, type SharedArguments } from '../usage.ts';

const LIST_MAX = 100;
/** Details of an event that are micro-USDT. */
const AMOUNTS = new Set(['gross', 'fee', 'credit']);

export async function listDeposits(
  args: SharedArguments & {
    readonly status: string;
    readonly rejected?: boolean | undefined;
    readonly limit: string;
  },
): Promise<number> {
  if (args.rejected === true && args.status !== 'needs_manual')
    throw new Misuse('--rejected lists rejected deposits, whose status is needs_manual');
  const status = args.rejected === true ? 'rejected' : args.status;
  const limit = count('--limit', args.limit, LIST_MAX);
  const [rows, ledger] = await withReader(
    readSettings(POSTGRES_READER, args.stack),
    async (reader) =>
      [
        await reader.rows(byStatus(status, { limit, below: undefined })),
        await reader.rows(TWO_OPERATORS_ABOVE),
      ] as const,
  );
  const above = BigInt(ledger[0]?.[0] ?? 0);
  const deposits = rows.map((cells) => withApprovals(cells, above));
  print(args.json === true ? jsonOf(deposits) : listText(deposits, status));
  return 0;
}

interface IdArguments extends SharedArguments {
  readonly id: string;
}

export async function showDeposit(args: IdArguments): Promise<number> {
  const id = readId(args);
  const [rows, events] = await withReader(
    readSettings(POSTGRES_READER, args.stack),
    async (reader) =>
      [await reader.rows(depositById(id)), await reader.rows(eventsById(id))] as const,
  );
  const [cells] = rows;
  if (cells === undefined)
    throw new Misuse(
      'there is no deposit with this id: `ops deposit list` shows ids, with --status those of every status',
    );
  const deposit = shown(cells, events);
  print(args.json === true ? jsonOf(deposit) : showText(deposit));
  return 0;
}

const DECISIONS = {
  approve: { decider: approve, done: 'approved' },
  reject: { decider: reject, done: 'rejected' },
  release: { decider: release, done: 'released' },
} as const;

export function decideDeposit(
  verb: keyof typeof DECISIONS,
  args: IdArguments & DecisionArguments,
): Promise<number> {
  const deposit_id = readId(args);
  const { decider, done } = DECISIONS[verb];
  return decide(args, (ledger, person) => decider(ledger, { deposit_id, ...person }), {
    subject: deposit_id,
    done,
    state: (ledger) => stateOf(ledger, deposit_id),
  });
}

export function refundDeposit(
  args: IdArguments & DecisionArguments & { readonly 'tron-tx': string; readonly amount: string },
): Promise<number> {
  const deposit_id = readId(args);
  const tron_tx_id = parseHash(args['tron-tx']);
  if (tron_tx_id === undefined)
    throw new Misuse('--tron-tx is the id of a transaction on TRON: 64 hex digits');
  const amount = usd('--amount', args.amount);
  return decide(
    args,
    (ledger, person) => recordRefund(ledger, { deposit_id, tron_tx_id, amount, ...person }),
    {
      subject: `a refund of ${sixDecimals(String(amount))} USDT for ${deposit_id}`,
      done: 'recorded',
      state: (ledger) => stateOf(ledger, deposit_id),
    },
  );
}

function stateOf(
  ledger: Ledger,
  deposit_id: string,
): { readonly json: object; readonly text: string } {
  const deposit = ledger.deposit(deposit_id);
  const { status } = deposit;
  const waits = status === 'needs_manual' && !deposit.rejected && deposit.approved_by.length > 0;
  const isRejected = status === 'needs_manual' && deposit.rejected;
  const text = isRejected ? `it stays ${status} for good` : `it is ${status}`;
  const more = waits ? ", since its credit needs another operator's approval too" : '';
  return { json: { deposit_id, status }, text: `${text}${more}` };
}

function readId({ id }: IdArguments): string {
  const parsed = parseDepositId(id);
  if (parsed === undefined)
    throw new Misuse(
      'that is no id of a deposit: they look like 6db65fd5-9fd3-86f6-b291-40571b5bcd6b',
    );
  return parsed;
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
  const [event, reason, actor, gross, fee, credit, nonce, hash, block_height, ...place] = cells;
  const [topic, partition, offset, at] = place;
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
    /** those of the event that have a value */
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
  return { ...deposit, approvals: isForTwo ? Number(cells[10]) : null };
}

/** As text, with amounts in USDT. */
function listText(deposits: readonly ReturnType<typeof withApprovals>[], status: string): string {
  if (deposits.length === 0)
    return status === 'needs_manual' ? 'no deposit waits for a person' : `no deposit is ${status}`;
  const lines = deposits.map((deposit) => {
    const { id, created_at, clt_address, amount_usdt, credit_usdt, reason, rejected } = deposit;
    const { approvals } = deposit;
    const given = approvals === null ? null : `${approvals} of 2 approvals`;
    const words = [reason, rejected ? 'rejected' : null, given];
    const why = words.filter((word) => word !== null).join(', ');
    const amounts = `arrived ${sixDecimals(amount_usdt)}, credit ${sixDecimals(credit_usdt)}`;
    return `${id}  ${created_at}  ${clt_address}  ${amounts}${why === '' ? '' : `  (${why})`}`;
  });
  return lines.join('\n');
}

function showText(deposit: ReturnType<typeof shown>): string {
  const { status, reason, approved, rejected, amount_usdt, fee_usdt, credit_usdt } = deposit;
  const words = [status, reason, approved ? 'approved' : null, rejected ? 'rejected' : null];
  const [gross, fee, credit] = [amount_usdt, fee_usdt, credit_usdt].map(sixDecimals);
  return [
    `deposit   ${deposit.id}`,
    `status    ${words.filter((word) => word !== null).join(', ')}`,
    `owner     ${deposit.clt_address}`,
    `address   ${deposit.deposit_address}, transaction ${deposit.tron_tx_id}, log ${deposit.log_index}`,
    `amounts   arrived ${gross}, fee ${fee}, credit ${credit} (USDT)`,
    ...deposit.events.map(({ event, at, topic, partition, offset, details }) => {
      const given = Object.entries(details).map(
        ([name, value]) => `${name} ${AMOUNTS.has(name) ? sixDecimals(value) : value}`,
      );
      const tail = given.length === 0 ? '' : `: ${given.join(', ')}`;
      return `${at}  ${topic}/${partition}@${offset}  ${event}${tail}`;
    }),
  ].join('\n');
}

/** `ops reserve run|runs`. A run is made by the code that makes those on the schedule. */
import { surplusOf } from '../../../projections/reserve/position.ts';
import { runsPage } from '../../../projections/reserve/queries.ts';
import { NO_RECORDS } from '../../../schemas/hash-chain.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { RESERVE_RUNS } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { ensureTopics } from '../../runtime/kafka/topics.ts';
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { Metrics } from '../../runtime/process/metrics.ts';
import { LOG_TOPICS } from '../../treasury/reconciliation/logs.ts';
import type { Progress } from '../../treasury/reconciliation/measure.ts';
import { Reconciliation } from '../../treasury/reconciliation/reconciliation.ts';
import { RECONCILIATION_SETTINGS } from '../../treasury/reconciliation/settings.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, note, print, withReader } from '../connections.ts';
import { minute, money, printPaged, table } from '../text.ts';
import { count, type SharedArguments } from '../usage.ts';

export const RESERVE_SETTINGS = { ...KAFKA, ...REGISTRY, ...RECONCILIATION_SETTINGS };

const LIST_MAX = 100;
/** For reading the logs: the balances take as long as the provider's rate allows. */
const READING_MS = 600_000;
const NOTE_EVERY_MS = 5_000;

/** Throws faults: then there is no run. */
export async function makeRun(args: SharedArguments): Promise<number> {
  const { json, stack } = args;
  const config = readSettings(RESERVE_SETTINGS, stack);
  const kafka = kafkaOf(config);
  await ensureTopics(kafka, LOG_TOPICS);
  const codec = await openCodec(config, { kafka, log: LOG }, [RESERVE_RUNS], LOG_TOPICS);
  const stopping = new AbortController();
  const late = setTimeout(() => stopping.abort(), READING_MS);
  let [planned, read, noted] = [0, 0, 0];
  const progress: Progress = {
    planned(balances, requests) {
      clearTimeout(late);
      [planned, read, noted] = [requests, 0, performance.now()];
      const expected = seconds(reconciliation.expectedMs(requests));
      note(
        `reading ${balances} balances in ${requests} requests, which takes ${expected} at the rate allowed`,
        args,
      );
    },
    read() {
      read++;
      if (performance.now() - noted < NOTE_EVERY_MS) return;
      noted = performance.now();
      const left = seconds(reconciliation.expectedMs(Math.max(0, planned - read)));
      note(`${read} of ${planned} requests are answered, ${left} to go`, args);
    },
  };
  const { signal } = stopping;
  const own = { metrics: new Metrics('ops'), source: 'ops', signal, progress };
  const reconciliation = new Reconciliation({ config, kafka, codec, log: LOG, ...own });
  note('reading the logs', args);
  try {
    const run = runOf(await reconciliation.once());
    print(json === true ? jsonOf(run) : runsText([run]));
    return 0;
  } catch (error) {
    throw signal.aborted ? READING_OVERDUE : error;
  } finally {
    clearTimeout(late);
  }
}

const READING_OVERDUE = new Fault(
  'run_overdue',
  `no reconciliation: the logs were not read to their ends within ${seconds(READING_MS)}. What to do: look whether the brokers answer (ops status), and try again`,
  { retry: true },
);

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}

export async function listRuns(
  args: SharedArguments & { readonly limit: string },
): Promise<number> {
  const { json, stack } = args;
  const limit = count('--limit', args.limit, LIST_MAX);
  const rows = await withReader(readSettings(POSTGRES_READER, stack), (reader) =>
    reader.rows(runsPage({ limit, offset: 0n })),
  );
  const runs = rows.map(runOfCells);
  if (json === true) print(jsonOf(runs));
  else printPaged(runsText(runs));
  return 0;
}

function runOf(run: ReserveReconciled): Run {
  return {
    run_id: run.run_id,
    run_at: timeOf(run.run_at),
    begun_at: timeOf(run.begun_at),
    oldest_reading_at: timeOf(run.oldest_reading_at),
    status: run.status,
    ledger_offset: String(run.ledger_offset),
    ledger_head: `0x${(run.ledger_head ?? NO_RECORDS).toString('hex')}`,
    block_height: String(run.block_height),
    block_hash: `0x${run.block_hash.toString('hex')}`,
    onchain_supply: String(run.onchain_supply),
    genesis_allocation: String(run.genesis_allocation),
    treasury_minted: String(run.treasury_minted),
    burned: String(run.burned),
    ledger_liability: String(run.ledger_liability),
    custody_reported: String(run.custody_reported),
    held: String(run.held),
    retained_fees: String(run.retained_fees),
    minting: String(run.minting),
    waiting: String(run.waiting),
    uncovered: String(run.uncovered),
    booked_surplus: String(run.booked_surplus),
    refunded: String(run.refunded),
    unproven: String(run.unproven ?? 0n),
    unminted: String(run.unminted ?? 0n),
    unproven_refunds: String(run.unproven_refunds ?? 0n),
    frozen: String(run.frozen ?? 0n),
    surplus: String(surplusOf(run)),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

type Run = ReturnType<typeof runOfCells>;

/** A row of `runsPage`, amounts in base units. A time of 1970 is unknown: of an older treasury. */
function runOfCells([id, at, offset, height, hash, ...cells]: Cells) {
  const [supply, genesis, minted, burned, liability, custody, held, fees, status, ...more] = cells;
  const [begun, minting, waiting, uncovered, booked, refunded, oldest, head, ...later] = more;
  const [unproven, unminted, unprovenRefunds, frozen] = later;
  const surplus = surplusOf({
    ledger_liability: BigInt(liability ?? 0),
    held: BigInt(held ?? 0),
    retained_fees: BigInt(fees ?? 0),
    booked_surplus: BigInt(booked ?? 0),
    refunded: BigInt(refunded ?? 0),
    custody_reported: BigInt(custody ?? 0),
  });
  return {
    run_id: id ?? '',
    run_at: isoTime(at),
    begun_at: isoTime(begun),
    ledger_offset: offset ?? '',
    /** 0x: of an older treasury */
    ledger_head: byteaHex(head),
    block_height: height ?? '',
    block_hash: byteaHex(hash),
    onchain_supply: supply ?? '',
    genesis_allocation: genesis ?? '',
    treasury_minted: minted ?? '',
    burned: burned ?? '',
    ledger_liability: liability ?? '',
    custody_reported: custody ?? '',
    held: held ?? '',
    retained_fees: fees ?? '',
    minting: minting ?? '',
    waiting: waiting ?? '',
    uncovered: uncovered ?? '',
    booked_surplus: booked ?? '',
    refunded: refunded ?? '',
    unproven: unproven ?? '',
    unminted: unminted ?? '',
    unproven_refunds: unprovenRefunds ?? '',
    frozen: frozen ?? '',
    surplus: String(surplus),
    oldest_reading_at: isoTime(oldest),
    status: status ?? '',
  };
}

/** Shown where one of the runs has such an amount. */
const SELDOM = [
  ['FROZEN', 'frozen'],
  ['NOT PROVEN', 'unproven'],
  ['CREDITED, NOT MINTED', 'unminted'],
  ['REFUNDS NOT PROVEN', 'unproven_refunds'],
] as const;

function runsText(runs: readonly Run[]): string {
  if (runs.length === 0) return 'there was no reconciliation yet; `ops reserve run` makes one';
  const seldom = SELDOM.filter(([, figure]) => runs.some((run) => BigInt(run[figure]) !== 0n));
  const rows = runs.map((run) => [
    minute(run.run_at),
    run.status,
    ...[run.custody_reported, run.ledger_liability, run.uncovered, run.surplus].map(money),
    ...seldom.map(([, figure]) => money(run[figure])),
    money(run.onchain_supply),
  ]);
  const named = seldom.map(([header]) => header);
  const headers = ['CUSTODY USDT', 'LIABILITY', 'UNCOVERED', 'SURPLUS', ...named, 'SUPPLY CLT'];
  return table(['RUN AT (UTC)', 'STATUS', ...headers], rows);
}

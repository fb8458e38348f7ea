/** `ops reserve run` makes a reconciliation, by the code that makes them on the schedule; `ops reserve runs` shows those there were. */
import type { Kafka } from 'kafkajs';
import { runsPage } from '../../../projections/reserve/queries.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { ensureTopics } from '../../runtime/kafka/topics.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { Metrics } from '../../runtime/process/metrics.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import type { Progress } from '../../treasury/reconciliation/custody.ts';
import { LOG_TOPICS } from '../../treasury/reconciliation/logs.ts';
import { Reconciliation } from '../../treasury/reconciliation/reconciliation.ts';
import type { ReserveConfig } from './config.ts';

/** For reading the logs, and for whatever else does not depend on how many balances there are. */
const READING_MS = 600_000;
/** A provider that fails now and then is asked again: so many times the time that it takes when all goes well. */
const SLOWER = 3;
/** More than Node's timers take is no time at all. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Between two words on how far it is. */
const TELL_MS = 5_000;

/** A run as it stands in the log, amounts in base units. */
export interface Run {
  readonly run_id: string;
  readonly run_at: string;
  readonly ledger_offset: string;
  readonly block_height: string;
  readonly block_hash: string;
  readonly onchain_supply: string;
  readonly genesis_allocation: string;
  readonly treasury_minted: string;
  readonly burned: string;
  readonly ledger_liability: string;
  readonly custody_reported: string;
  readonly held: string;
  readonly retained_fees: string;
  readonly status: string;
}

/**
 * Makes one run now; it may take as long as its balances take at the rate that the settings allow. `say` is told in a line each how far it is. Throws faults: then there is none.
 */
export async function reconcile(
  config: ReserveConfig,
  kafka: Kafka,
  log: Logger,
  say: (line: string) => void = () => undefined,
): Promise<Run> {
  await ensureTopics(kafka, LOG_TOPICS);
  const codec = await openCodec(config.registry_url, LOG_TOPICS);
  const stopping = new AbortController();
  let [balances, read, told] = [0, 0, 0];
  let late: NodeJS.Timeout | undefined;
  let tooLate: Fault | undefined;
  const allow = (ms: number): void => {
    clearTimeout(late);
    const giveUp = (): void => {
      tooLate = overdue(ms, { balances, read });
      stopping.abort();
    };
    late = setTimeout(giveUp, Math.min(ms, TIMER_MS_MAX));
  };
  const progress: Progress = {
    planned(count) {
      [balances, read, told] = [count, 0, performance.now()];
      const expected = reconciliation.expectedMs(count);
      allow(allowedMs(expected));
      say(`reading ${count} balances, which takes ${seconds(expected)} at the rate allowed`);
    },
    read() {
      read++;
      if (performance.now() - told < TELL_MS) return;
      told = performance.now();
      say(
        `${read} of ${balances} balances are read, ${seconds(reconciliation.expectedMs(Math.max(0, balances - read)))} to go`,
      );
    },
  };
  const own = { metrics: new Metrics('ops'), source: 'ops', signal: stopping.signal, progress };
  const reconciliation = new Reconciliation({ config, kafka, codec, log, ...own });
  allow(READING_MS);
  say('reading the logs');
  try {
    return shown(await reconciliation.once());
  } catch (error) {
    throw tooLate ?? error;
  } finally {
    clearTimeout(late);
  }
}

/** How long a run may take whose balances take this long when all goes well. */
export function allowedMs(expected: number): number {
  return READING_MS + SLOWER * expected;
}

function overdue(
  ms: number,
  { balances, read }: { readonly balances: number; readonly read: number },
): Fault {
  const where =
    balances === 0
      ? 'the logs were not read to their ends'
      : `${read} of ${balances} balances were read`;
  const remedy =
    balances === 0
      ? 'look whether the brokers answer (`ops status`)'
      : "look whether TRON's provider answers, or raise APP_RECONCILE_REQUESTS_PER_SECOND and APP_RECONCILE_REQUESTS_PER_DAY as far as it allows";
  return new Fault(
    'run_overdue',
    `there is no reconciliation: after ${seconds(ms)} ${where}. What to do: ${remedy}, and try again`,
    {
      retry: true,
    },
  );
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}

/** The newest runs, newest first. */
export async function listRuns(reader: Reader, limit: number): Promise<readonly Run[]> {
  return (await reader.rows(runsPage({ limit, offset: 0n }))).map(ofCells);
}

function shown({ run_at: at, block_hash: hash, ...run }: ReserveReconciled): Run {
  const { ledger_offset, block_height, onchain_supply, genesis_allocation, treasury_minted } = run;
  const { burned, ledger_liability, custody_reported, held, retained_fees, run_id, status } = run;
  return {
    run_id,
    run_at: new Date(at).toISOString(),
    ledger_offset: String(ledger_offset),
    block_height: String(block_height),
    block_hash: `0x${hash.toString('hex')}`,
    onchain_supply: String(onchain_supply),
    genesis_allocation: String(genesis_allocation),
    treasury_minted: String(treasury_minted),
    burned: String(burned),
    ledger_liability: String(ledger_liability),
    custody_reported: String(custody_reported),
    held: String(held),
    retained_fees: String(retained_fees),
    status,
  };
}

function ofCells([
  id,
  at,
  offset,
  height,
  hash,
  supply,
  genesis,
  minted,
  burned,
  liability,
  custody,
  held,
  fees,
  status,
]: Cells): Run {
  return {
    run_id: id ?? '',
    run_at: new Date(`${at?.replace(' ', 'T')}:00`).toISOString(),
    ledger_offset: offset ?? '',
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
    status: status ?? '',
  };
}

/** For people: a line of figures each, in USD. */
export function runsText(runs: readonly Run[]): string {
  if (runs.length === 0)
    return 'there was no reconciliation yet; `npm run ops -- reserve run` makes one';
  return runs.map(runText).join('\n');
}

function runText(run: Run): string {
  const amounts = (
    [
      'onchain_supply',
      'genesis_allocation',
      'treasury_minted',
      'burned',
      'custody_reported',
      'held',
      'retained_fees',
    ] as const
  ).map((name) => `${name} ${dollars(run[name])}`);
  return `${run.run_at}  ${run.status.padEnd(17)} ledger ${run.ledger_offset}, block ${run.block_height}: ${amounts.join(', ')}  (${run.run_id})`;
}

/** Base units as USD, every digit. */
function dollars(units: string): string {
  const negative = units.startsWith('-');
  const digits = (negative ? units.slice(1) : units).padStart(7, '0');
  return `${negative ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

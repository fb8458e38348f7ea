/** The money as operators look at it: `ops status` and the operations page show this list. */
import { HELD_BY_REASON, mintQueue } from '../../../projections/deposits/queries.ts';
import { holdReasonText } from '../../../schemas/deposit-policy.ts';
import { durationText, RUN_WORDS } from '../../../schemas/explorer-api/words.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { money, table } from '../text.ts';
import { newestRun, runMetrics, UNCOVERED, type ServiceHealth } from './services.ts';

export interface Money {
  /** figures of the newest reserve run, then the room under the cap */
  readonly amounts: readonly {
    readonly name: string;
    readonly amount: bigint;
    readonly unit: 'USDT' | 'CLT';
  }[];
  readonly states: readonly {
    readonly name: string;
    readonly text: string;
    readonly tone: 'good' | 'warn' | 'bad' | 'plain';
  }[];
  /** deposits that wait for a person, by reason; null: not known */
  readonly waiting: readonly Held[] | null;
}

interface Held {
  /** snake_case; unknown: the tables have none */
  readonly reason: string;
  readonly deposits: number;
  /** what arrived for them */
  readonly amount: bigint;
}

/** The queue of deposits, by the tables of Postgres. */
export interface Queue {
  /** undefined: no policy is in force yet */
  readonly cap_left: bigint | undefined;
  readonly held: readonly Held[];
}

/** `now`: Unix milliseconds. Undefined until the projection of deposits has its tables. */
export async function readQueue(reader: Reader, now: number): Promise<Queue | undefined> {
  const read = await Promise.all([reader.rows(mintQueue(now)), reader.rows(HELD_BY_REASON)]).catch(
    (error: unknown) => {
      if (error instanceof Fault && error.code === 'storage_missing') return undefined;
      throw error;
    },
  );
  if (read === undefined) return undefined;
  const [[cap], held] = read;
  return {
    cap_left: cap === undefined ? undefined : BigInt(cap[0] ?? 0),
    held: held.map(([reason, deposits, amount]) => ({
      reason: reason ?? 'unknown',
      deposits: Number(deposits),
      amount: BigInt(amount ?? 0),
    })),
  };
}

/** Figures of the newest reserve run: name, figure and unit. */
const FIGURES = [
  ['custody', 'custody_reported', 'USDT'],
  ['liability', 'ledger_liability', 'USDT'],
  ['surplus', 'surplus', 'USDT'],
  ['not covered', 'uncovered', 'USDT'],
  ['supply on chain', 'onchain_supply', 'CLT'],
] as const;

/** Shown where they are not 0. */
const SELDOM = [
  ['being minted', 'minting', 'USDT'],
  ['waiting', 'waiting', 'USDT'],
  ['not minted yet', 'held', 'USDT'],
  ['frozen', 'frozen', 'USDT'],
  ['not proven', 'unproven', 'USDT'],
  ['credited, not minted', 'unminted', 'USDT'],
  ['refunds not proven', 'unproven_refunds', 'USDT'],
] as const;

const RUNS: Readonly<Record<string, readonly [text: string, tone: 'good' | 'warn' | 'bad']>> = {
  ok: [RUN_WORDS.ok, 'good'],
  over_backed_drift: [RUN_WORDS.over_backed_drift, 'warn'],
  mismatch: [RUN_WORDS.mismatch, 'bad'],
};

/** `queue`: undefined while it is not known. */
export function moneyOf(services: readonly ServiceHealth[], queue: Queue | undefined): Money {
  const metrics = runMetrics(services);
  // every figure of the newest run is there, except those that are 0
  const figure = (name: string): number => Math.round(metrics?.[`reserve ${name}`] ?? 0);
  const seldom = SELDOM.filter(([, name]) => figure(name) !== 0);
  const { cap_left: capLeft } = queue ?? {};
  return {
    amounts: [
      ...(metrics === undefined || !(UNCOVERED in metrics) ? [] : [...FIGURES, ...seldom]).map(
        ([name, of, unit]) => ({
          name,
          amount: BigInt(figure(of)),
          unit,
        }),
      ),
      ...(capLeft === undefined
        ? []
        : [{ name: 'left of the rolling cap', amount: capLeft, unit: 'CLT' } as const]),
    ],
    states: [runState(services), mintingState(services)].filter((state) => state !== undefined),
    waiting: queue?.held ?? null,
  };
}

type State = Money['states'][number];

function runState(services: readonly ServiceHealth[]): State | undefined {
  const run = newestRun(services);
  if (run === undefined) return undefined;
  const { status = '', age_seconds: ageSeconds } = run;
  if (ageSeconds < 0) return { name: 'reserve run', text: 'none yet', tone: 'bad' };
  const [text, tone] = RUNS[status] ?? ['unknown', 'bad'];
  return { name: 'reserve run', text: `${text}, ${durationText(ageSeconds)} ago`, tone };
}

/** By the treasuries that hold the lease: one that stands by mints nothing, and closes nothing. */
function mintingState(services: readonly ServiceHealth[]): State | undefined {
  const treasuries = services.filter(({ metrics }) => CLOSED in metrics);
  if (treasuries.length === 0) return undefined;
  const closed = treasuries
    .filter(({ metrics }) => metrics['lease held'] === 1)
    .map(({ metrics }) => metrics[CLOSED] ?? 0);
  if (closed.length === 0) return { name: 'minting', text: 'unknown', tone: 'plain' };
  const isClosed = Math.max(...closed) > 0;
  return { name: 'minting', text: isClosed ? 'closed' : 'open', tone: isClosed ? 'bad' : 'good' };
}

const CLOSED = 'minting closed';

/** For a terminal; empty where nothing is known. */
export function moneyLines({ amounts, states, waiting }: Money): readonly string[] {
  const held = (waiting ?? []).map(
    ({ reason, deposits, amount }) =>
      `${deposits} ${deposits === 1 ? 'waits' : 'wait'} for a person, ${money(amount)} USDT: ${holdReasonText(reason)}`,
  );
  const said = states.map(({ name, text }) => `${name}: ${text}`);
  const rows = amounts.map(({ name, amount, unit }) => [name, `${money(amount)} ${unit}`]);
  return [
    ...(rows.length === 0 ? [] : ['', table(['MONEY', 'AMOUNT'], rows)]),
    ...(said.length === 0 ? [] : [said.join('; ')]),
    ...held,
  ];
}

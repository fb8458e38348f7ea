/** The state of the system as the operations page shows it; all pages share one look. */
import type * as answers from '../../../schemas/operations-api/answers.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import type { BeforeJson } from '../connections.ts';
import { readDeposits, readDust } from '../deposit/deposits.ts';
import { readQuarantine } from '../quarantine/quarantine.ts';
import { readStaged } from '../rebuild/staged.ts';
import { readStatus, type Sources as StatusSources } from '../status/status.ts';
import { Misuse } from '../usage.ts';
import { readAlerts } from './alerts.ts';
import type { LiveLedger } from './live-ledger.ts';

/** Deposits that are listed on the first page. */
const WAITING_MAX = 100;
const FRESH_MS = 1_000;

export interface Sources {
  /** read anew at each look, since the stack file may change; throws `Misuse` when it is none */
  readonly status: () => StatusSources;
  readonly reader: Reader;
  readonly ledger: LiveLedger;
  readonly prometheus_url: string | undefined;
  /** micro-USDT: of deposits of less that wait, only the number is told */
  readonly dust_below: bigint;
}

/** A part that does not answer says why, and the others are shown. */
async function part<Value>(ask: () => Promise<Value>): Promise<answers.Part<Value>> {
  try {
    return { is: await ask(), problem: null };
  } catch (error) {
    if (!(error instanceof Fault || error instanceof Misuse)) throw error;
    return { is: null, problem: messageOf(error) };
  }
}

export async function readOperations({
  status: sources,
  reader,
  ledger,
  prometheus_url: prometheusUrl,
  dust_below: dustBelow,
}: Sources): Promise<BeforeJson<answers.Operations>> {
  const status = part(async () => readStatus(sources()));
  const [quarantine, waiting, alerts, known] = await Promise.all([
    part(async () => (await readQuarantine(reader)).filter(({ state }) => state !== 'mended')),
    part(async () => ({
      ...(await readDeposits(reader, {
        status: 'needs_manual',
        limit: WAITING_MAX,
        least: dustBelow,
      })),
      dust: { below: dustBelow, ...(await readDust(reader, dustBelow)) },
    })),
    prometheusUrl === undefined ? null : part(() => readAlerts(prometheusUrl)),
    status,
  ]);
  const rebuilds = await part(() => readStaged(reader, known.is?.log ?? null));
  const { policy, governance } = ledger.ledger ?? {};
  return {
    at: new Date().toISOString(),
    ledger: {
      problem: ledger.problem ?? null,
      network: policy?.network ?? null,
      operators: governance?.operators?.operators.length ?? 0,
    },
    status: known,
    quarantine,
    rebuilds,
    waiting,
    alerts,
  };
}

/** One look at a time, shared by all who ask, and kept for `ms` after its end. */
export class SharedLook<Value> {
  readonly #look: () => Promise<Value>;
  readonly #ms: number;
  #pending: Promise<Value> | undefined;
  #last: { readonly value: Value; readonly at: number } | undefined;

  constructor(look: () => Promise<Value>, ms = FRESH_MS) {
    this.#look = look;
    this.#ms = ms;
  }

  async ask(): Promise<Value> {
    const last = this.#last;
    if (last !== undefined && performance.now() - last.at < this.#ms) return last.value;
    this.#pending ??= this.#begin();
    return this.#pending;
  }

  /** Resolves when no look is under way: a page may have left before the end of its look. */
  async idle(): Promise<void> {
    await this.#pending?.catch(() => undefined);
  }

  async #begin(): Promise<Value> {
    try {
      const value = await this.#look();
      this.#last = { value, at: performance.now() };
      return value;
    } finally {
      this.#pending = undefined;
    }
  }
}

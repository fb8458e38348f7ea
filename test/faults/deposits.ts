/**
 * The fault run of deposits: people pay to a thousand addresses while the provider throttles, lags,
 * repeats, truncates and lies, and processes are killed or frozen at random moments. After each
 * fault one more payment must reach its owner. At the end logs, tables and the network are
 * compared, and all log lines are searched for secrets.
 */
import { Pool } from 'pg';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { parseTronAddress } from '../../schemas/tron-address.ts';
import { DEPOSIT_ADDRESSES } from '../../schemas/topics.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { accountAt, depositKey } from '../support/deposit-log.ts';
import { never, silentLog, testKafka } from '../support/kafka.ts';
import { Deck, Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { Blows } from './blows.ts';
import { TOPICS } from './deposit-logs.ts';
import { SERVICES, settingsFor } from './deposit-settings.ts';
import { judged } from './deposit-verdict.ts';
import { Depositors } from './depositors.ts';
import {
  countsLine,
  recoveryLines,
  type FaultReport,
  type FaultRun,
  type Given,
  type Recovery,
} from './fault-run.ts';
import { Payments } from './payments.ts';
import { Processes } from './processes.ts';
import { searchLogs, secretsOf } from './secrets.ts';
import { openCodec } from '../support/codec.ts';

export interface DepositRunOptions {
  readonly transfers: number;
  readonly addresses: number;
  readonly kills: number;
  /** most requests to the provider within a second */
  readonly requests: number;
}

export interface DepositRunReport extends FaultReport {
  /** how often each was struck */
  readonly struck: Readonly<Record<string, number>>;
  /** requests that each fault of the provider has met */
  readonly failed: Readonly<Record<string, number>>;
  readonly payables: number;
  /** payments to addresses that nobody ever looked at, shown to their owners */
  readonly never_hot: number;
  readonly log_files: readonly string[];
}

const DAY_MS = 86_400_000;
/** One in so many addresses is one that nobody ever looks at. */
const NEVER_HOT_EVERY = 20;
/** After every so many blows the payment goes to such a one. */
const NEVER_HOT_PROBE_EVERY = 3;

/** How the provider fails, and for how many requests at the most. */
const FAILURES = [
  ['status_403', 10],
  ['status_429', 12],
  ['status_503', 12],
  ['html', 12],
  ['success_false', 12],
  ['error_200', 12],
  ['truncated', 12],
  ['empty', 60],
  ['repeat', 60],
  ['lag', 60],
  ['list_lag', 60],
  ['reset', 12],
  ['delay', 10],
] as const;

class DepositRun {
  readonly stack: Stack;
  readonly settings: ReturnType<typeof settingsFor>;
  readonly processes: Processes;
  readonly payments: Payments;
  readonly depositors: Depositors;
  readonly blows: Blows;
  readonly pool: Pool;
  readonly recoveries: Recovery[] = [];
  never_hot = 0;
  readonly #options: DepositRunOptions;
  readonly #random: Random;
  readonly #failures: Deck<(typeof FAILURES)[number]>;
  readonly #progress: (line: string) => void;

  constructor(stack: Stack, options: DepositRunOptions, { seed, progress }: Given) {
    this.stack = stack;
    this.#options = options;
    this.#random = new Random(seed);
    this.#failures = new Deck(FAILURES, this.#random);
    this.#progress = progress;
    this.settings = settingsFor(options.requests);
    this.processes = new Processes(stack, this.settings);
    this.blows = new Blows(stack, this.processes, this.#random);
    this.pool = new Pool({ connectionString: stack.addresses.postgres_url, max: 2 });
    // a connection that Postgres takes with it is not the end: the next question has another
    this.pool.on('error', () => undefined);
    // seeded apart, so that what is paid does not depend on how often somebody looked
    this.payments = new Payments({
      admin_url: this.#adminUrl,
      random: new Random(seed + 1),
      addresses: options.addresses,
    });
    this.depositors = new Depositors(
      () => this.processes.at('deposit-gateway').url,
      new Random(seed + 2),
    );
  }

  get #adminUrl(): string {
    return `http://127.0.0.1:${this.stack.ports.devnet}`;
  }

  get #neverHot(): number {
    return Math.ceil(this.#options.addresses / NEVER_HOT_EVERY);
  }

  async start(codec: Codec): Promise<void> {
    await (await this.processes.start('devnet')).ready();
    // one by one: a second process of a name gets free ports only once the first has started
    for (const slot of SERVICES) await this.processes.start(slot);
    await this.processes.at('deposit-gateway').ready();
    await this.#import(codec);
    await this.#join(0);
  }

  /** Payments, people, blows, in turns. */
  async rounds(): Promise<void> {
    const { kills, transfers } = this.#options;
    for (let kill = 1; kill <= kills; kill++) {
      await this.payments.block(
        Math.floor((transfers * kill) / kills) - Math.floor((transfers * (kill - 1)) / kills),
      );
      // one deck or more, in however few rounds
      for (let fault = 0; fault < Math.ceil(FAILURES.length / kills); fault++) await this.#fail();
      const joining = this.#join(kill / kills);
      joining.catch(() => undefined);
      await this.#moment();
      const { what, since } = await this.blows.strike(() => this.#moment());
      await this.#shown(kill % NEVER_HOT_PROBE_EVERY === 0, what);
      const ms = Math.round(performance.now() - since);
      await this.processes.thaw();
      this.recoveries.push({ struck: what, ms });
      this.#progress(
        `kill ${kill} of ${kills}: ${what}; a payment after it was shown after ${ms} ms; ${this.payments.made} transactions so far`,
      );
    }
    await this.depositors.joined;
  }

  /** Requests of long ago, by somebody who never opened the panel. */
  async #import(codec: Codec): Promise<void> {
    const writer = new KafkaWriter(testKafka(this.stack.addresses), {
      log: silentLog(),
      signal: never,
    });
    const events = Array.from({ length: this.#neverHot }, (_, account): DepositAddressEvent => {
      return {
        type: 'AddressRequested',
        clt_address: accountAt(account),
        requested_at: Date.now() - 2 * DAY_MS,
        derivation_index: account,
        deposit_address: depositKey().addressAt(account),
      };
    });
    const entries = events.map((event) => ({
      key: depositAddressEventKey(event),
      value: codec.encode(event),
      headers: { event_id: depositAddressEventId(event), event_type: event.type },
      timestamp: Date.now(),
    }));
    await writer.append(DEPOSIT_ADDRESSES.name, 0, entries);
    await writer.close();
  }

  #joinedTo = 0;

  /**
   * A third of the users exist at the start; the others join during the first two thirds of the
   * run.
   */
  #join(share: number): Promise<void> {
    const users = this.#options.addresses - this.#neverHot;
    const from = this.#joinedTo;
    this.#joinedTo = Math.min(users, Math.ceil(users * (1 / 3 + share)));
    return this.depositors.join(
      Array.from({ length: this.#joinedTo - from }, (_, at) => this.#neverHot + from + at),
    );
  }

  /** Switches the next fault on; resolves when it has met a request. */
  async #fail(): Promise<void> {
    const [mode, most] = this.#failures.draw();
    const before = (await this.failed())[mode] ?? 0;
    const response = await fetch(`${this.#adminUrl}/admin/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        target: 'tron',
        mode,
        times: 1 + this.#random.below(most),
        ...(mode === 'delay' ? { delay_ms: 200 } : {}),
      }),
    });
    if (!response.ok) throw new Error(`${mode}: ${await response.text()}`);
    await until(
      () => this.failed(),
      `a request that ${mode} meets`,
      (seen) => (seen[mode] ?? 0) > before,
    );
  }

  /** Requests that each fault has met so far. */
  async failed(): Promise<Readonly<Record<string, number>>> {
    const response = await fetch(`${this.#adminUrl}/admin/faults/taken`);
    return Object(await response.json()).tron;
  }

  /** Waits for a moment that nobody chose: so many looks at lists. */
  async #moment(): Promise<void> {
    for (let looks = this.#random.below(40); looks > 0; looks--) await this.depositors.look();
  }

  /** A payment that is made now has to be shown to its owner. */
  async #shown(isNeverHot: boolean, after: string): Promise<void> {
    const account = isNeverHot
      ? this.#random.below(this.#neverHot)
      : this.#random.pick([...this.depositors.addresses.keys()]);
    const address = isNeverHot
      ? this.payments.addressAt(account)
      : this.depositors.addresses.get(account);
    if (address === undefined) throw new Error(`account ${account} has no address`);
    if (isNeverHot)
      await until(
        () => this.#isCold(address),
        `nobody to look at ${address} any more, after ${after}`,
      );
    const id = await this.payments.probe(address);
    const isShown = async (): Promise<boolean> =>
      (await this.depositors.deposits(account))?.some((each) => each.tron_tx_id === id) === true;
    await until(
      isShown,
      `payment ${id} to ${address} of account ${account} at the gateway, after ${after}`,
    );
    if (isNeverHot) this.never_hot++;
  }

  async #isCold(address: string): Promise<boolean> {
    const { rows } = await this.pool.query(
      'SELECT 1 FROM watch.queue WHERE deposit_address = $1 AND requested AND NOT hot',
      [parseTronAddress(address)],
    );
    return rows.length > 0;
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

export async function depositFaultRun(
  options: DepositRunOptions,
  given: Given,
): Promise<DepositRunReport> {
  const stack = await startStack();
  const run = new DepositRun(stack, options, given);
  try {
    const codec = await openCodec(stack.addresses.registry_url, TOPICS);
    const { processes } = run;
    await processes.whileAllRun(run.start(codec));
    await processes.whileAllRun(run.rounds());
    const failed = await run.failed();
    const verdict = await processes.whileAllRun(judged(run, codec, { ...options, ...given }));
    const searched = await searchLogs(stack.folder, secretsOf(stack, Object.values(run.settings)));
    return {
      struck: run.blows.counts,
      failed,
      payables: run.payments.payables.size,
      never_hot: run.never_hot,
      log_files: searched.files,
      lines: [
        `struck: ${countsLine(run.blows.counts)}`,
        `requests that the provider failed: ${countsLine(failed)}`,
        `transactions: ${countsLine(run.payments.kinds)}; logs that are deposits: ${run.payments.payables.size}`,
        ...verdict.lines,
        ...recoveryLines(
          'from a restart, or a freeze, until a payment is shown that was made once the restarted process was ready',
          run.recoveries,
        ),
        `payments shown of addresses that nobody looks at: ${run.never_hot}`,
        `the gateway's answers by status (0: nobody listened): ${JSON.stringify(run.depositors.answers)}`,
        `searched for secrets: ${searched.lines} log lines of ${searched.files.length} files`,
      ],
      violations: [...verdict.violations, ...run.depositors.violations, ...searched.violations],
    };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${run.processes.lastLines()}`, { cause });
  } finally {
    await run.close();
    await stack.stop();
  }
}

export const deposits: FaultRun<keyof DepositRunOptions> = {
  about:
    'people pay to deposit addresses through a provider that fails in every way, while watchers, treasuries, gateway, projectors,\n' +
    'Kafka, Postgres, Redis and the registry are killed or frozen; then holds the network, the logs and the tables against each other',
  options: {
    transfers: { about: 'how many transactions on TRON', default: 10_000 },
    addresses: { about: 'to how many deposit addresses', default: 1_000 },
    kills: { about: 'how many blows', default: 60 },
    requests: { about: 'how many requests a second the watchers together may make', default: 250 },
  },
  run: depositFaultRun,
};

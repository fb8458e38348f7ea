/**
 * The fault run of deposits: people pay to a thousand addresses while the provider throttles, lags,
 * repeats, truncates and lies, and processes are killed or frozen at random moments. After each
 * fault one more payment must reach its owner. At the end each payment must be a deposit, and no
 * log line hold a secret.
 */
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { parseTronAddress } from '../../schemas/tron-address.ts';
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER } from '../../schemas/topics.ts';
import { openCodec } from '../support/codec.ts';
import { accountAt, depositKey } from '../support/deposit-log.ts';
import { appendAll } from '../support/kafka.ts';
import { Deck, Random } from '../support/random.ts';
import { SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { Blows, type Blow } from './blows.ts';
import { Depositors } from './depositors.ts';
import { countsLine, type FaultRun, type Given } from './fault-run.ts';
import { MixedPayments } from './mixed-payments.ts';
import { figureOf } from './processes.ts';
import { onStack, type Settings, type StackPlace, type System } from './system.ts';
import { projected, verdict, type SystemReport } from './verdict.ts';

interface DepositReport extends SystemReport {
  /** requests that each fault of the provider has met */
  readonly failed: Readonly<Record<string, number>>;
  readonly payables: number;
  /** payments to addresses that nobody ever looked at, shown to their owners */
  readonly never_hot: number;
}

type Options = Readonly<Record<'transfers' | 'addresses' | 'kills' | 'requests', number>>;

const QUIET_KAFKA = { APP_KAFKA_SESSION_MS: '2000' };
const LOGGED = { APP_LOG_LEVEL: 'trace' };
const KEY = 'the key of the provider, which nobody may read';
/** In start order: two watchers and two treasuries, so that they compete. */
const WATCHERS = ['tron-watcher', 'tron-watcher/2'];
const TREASURIES = ['treasury', 'treasury/2'];
const READERS = ['projector-watch', 'projector-deposits', 'deposit-gateway'];
const WATCHER_HOWS = ['killed', 'frozen'] as const;

export const BLOWS: readonly Blow[] = [
  ...WATCHER_HOWS.flatMap((how) => [
    { slots: WATCHERS, hows: [how] },
    { slots: TREASURIES, hows: [how] },
  ]),
  { slots: ['deposit-gateway'], hows: ['killed'] },
  { slots: ['projector-deposits'], hows: WATCHER_HOWS, is_alone: true },
  { slots: ['projector-watch'], hows: WATCHER_HOWS, is_alone: true },
  { slots: ['kafka'], hows: ['killed'] },
  { slots: ['postgres'], hows: ['killed'] },
  { slots: ['redis'], hows: ['killed'] },
  {
    slots: ['registry'],
    hows: ['killed'],
    asking: ['deposit-gateway', 'tron-watcher/2', 'treasury/2'],
  },
];

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

const DAY_MS = 86_400_000;
/** One in so many addresses is one that nobody ever looks at. */
const NEVER_HOT_EVERY = 20;
/** After every so many blows the payment goes to such a one. */
const NEVER_HOT_PROBE_EVERY = 3;
const MEASURED =
  'from a restart, or a freeze, until a payment is shown that was made once the restarted process was ready';

/** `requests` is what all watchers together may ask the provider within a second. */
function settingsFor(requests: number): Settings {
  return {
    devnet: {
      ...LOGGED,
      APP_TRAFFIC_PER_SECOND: '0',
      APP_BLOCK_INTERVAL_MS: '60000',
      APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '300',
      APP_DEVNET_TRON_SOLIDIFY_MS: '600',
      APP_DEVNET_TRON_API_KEY: KEY,
    },
    'deposit-gateway': { ...LOGGED, APP_JWT_SECRET: SECRET, APP_RATE_PER_SECOND: '0' },
    'tron-watcher': {
      ...LOGGED,
      ...QUIET_KAFKA,
      APP_TRON_API_KEY: KEY,
      APP_TRON_REQUESTS_PER_SECOND: String(requests),
      APP_TRON_BACKOFF_MS_MIN: '10',
      APP_TRON_BACKOFF_MS_MAX: '300',
      APP_PASS_EVERY_MS: '50',
      APP_PASS_ADDRESSES_MAX: '50',
      APP_COLD_EVERY_MS: '500',
      APP_CROSS_CHECK_EVERY: '10',
    },
    // whoever is killed has often just written one, or is about to
    treasury: { ...LOGGED, APP_SNAPSHOT_BYTES_MIN: '1' },
    'projector-deposits': { ...LOGGED, ...QUIET_KAFKA },
    'projector-watch': { ...LOGGED, ...QUIET_KAFKA },
  };
}

class DepositRun {
  readonly payments: MixedPayments;
  readonly depositors: Depositors;
  never_hot = 0;
  readonly #system: System<StackPlace>;
  readonly #options: Options;
  readonly #failures: Deck<(typeof FAILURES)[number]>;
  readonly #blows: Blows;
  #joinedTo = 0;

  constructor(system: System<StackPlace>, options: Options, seed: number) {
    this.#system = system;
    this.#options = options;
    this.#failures = new Deck(FAILURES, system.random);
    this.#blows = new Blows(system, BLOWS);
    // seeded apart, so that what is paid does not depend on how often somebody looked
    this.payments = new MixedPayments(system, new Random(seed + 1), options.addresses);
    this.depositors = new Depositors(() => system.urlOf('deposit-gateway'), new Random(seed + 2));
  }

  get #neverHot(): number {
    return Math.ceil(this.#options.addresses / NEVER_HOT_EVERY);
  }

  async start(): Promise<void> {
    await this.#system.start([...READERS, ...TREASURIES, ...WATCHERS]);
    await this.#system.ready(['deposit-gateway']);
    await this.#import();
    await this.#join(0);
  }

  /** Payments, people, blows, in turns. */
  async rounds(): Promise<void> {
    const system = this.#system;
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
      const { what, since } = await this.#blows.strike(() => this.#moment());
      await this.#shown(kill % NEVER_HOT_PROBE_EVERY === 0, what);
      const ms = system.recovered(MEASURED, what, since);
      await system.processes.thaw();
      system.progress(
        `kill ${kill} of ${kills}: ${what}; a payment after it was shown after ${ms} ms; ${this.payments.made} transactions so far`,
      );
    }
    await this.depositors.joined;
  }

  /**
   * Stops the processes in the order of the data flow, each once it is idle; what did not drain is
   * a violation.
   */
  async rest(): Promise<void> {
    const { processes, progress, violations } = this.#system;
    await this.#system.admin('/faults', undefined, 'DELETE');
    const settled = await this.payments.settle();
    progress('the provider is well again: waiting until each address was asked about');
    const queue = `SELECT count(*) FILTER (WHERE checked_until < $1) AS due, count(*) FILTER (WHERE requested) AS known FROM watch.queue`;
    await until(
      () => this.#system.rows<{ due: string; known: string }>(queue, [settled]),
      'each address to be asked about once more',
      ([seen]) => seen?.due === '0' && seen.known !== '0',
    );
    violations.push(...(await processes.drain(WATCHERS)));
    await until(
      () => this.#undecided(),
      'the treasury with the lease to have decided everything',
      (seen) => seen === 0,
    );
    violations.push(...(await processes.drain(TREASURIES)));
    for (const name of ['watch', 'deposits']) await projected(this.#system, name);
    violations.push(...(await processes.drain(READERS)));
  }

  /** Records and transfers of the one that has the lease. */
  async #undecided(): Promise<number> {
    const figures = ['lease_held', 'treasury_lag_records', 'treasury_transfers_waiting'];
    for (const slot of TREASURIES) {
      const asked = figures.map((figure) => figureOf(this.#system.processes.at(slot), figure));
      const [held, ...left] = await Promise.all(asked);
      if (held === 1) return left.reduce((sum, each) => sum + each, 0);
    }
    throw new Error('no treasury holds the lease');
  }

  /** Requests of long ago, by somebody who never opened the panel. */
  async #import(): Promise<void> {
    const { kafka, registry_url } = this.#system.place;
    const codec = await openCodec(registry_url, [DEPOSIT_ADDRESSES]);
    const events = Array.from({ length: this.#neverHot }, (_, account): DepositAddressEvent => ({
      type: 'AddressRequested',
      clt_address: accountAt(account),
      requested_at: Date.now() - 2 * DAY_MS,
      derivation_index: account,
      deposit_address: depositKey().addressAt(account),
    }));
    const entries = events.map((event) => ({
      key: depositAddressEventKey(event),
      value: codec.encode(event),
      headers: { event_id: depositAddressEventId(event), event_type: event.type },
      timestamp: Date.now(),
    }));
    await appendAll(kafka, DEPOSIT_ADDRESSES.name, entries);
  }

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

  async #fail(): Promise<void> {
    const [mode, most] = this.#failures.draw();
    const times = 1 + this.#system.random.below(most);
    const delay = mode === 'delay' ? { delay_ms: 200 } : {};
    await this.#system.fail({ target: 'tron', mode, times, ...delay });
  }

  /** Waits for a moment that nobody chose: so many looks at lists. */
  async #moment(): Promise<void> {
    for (let looks = this.#system.random.below(40); looks > 0; looks--)
      await this.depositors.look();
  }

  /** A payment that is made now has to be shown to its owner. */
  async #shown(isNeverHot: boolean, after: string): Promise<void> {
    const { random } = this.#system;
    const account = isNeverHot
      ? random.below(this.#neverHot)
      : random.pick([...this.depositors.addresses.keys()]);
    const address = isNeverHot
      ? this.payments.addressAt(account)
      : (this.depositors.addresses.get(account) ?? '');
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
    const rows = await this.#system.rows(
      'SELECT 1 FROM watch.queue WHERE deposit_address = $1 AND requested AND NOT hot',
      [parseTronAddress(address)],
    );
    return rows.length > 0;
  }
}

async function run(options: Options, given: Given): Promise<DepositReport> {
  return onStack(settingsFor(options.requests), given, async (system) => {
    const deposits = new DepositRun(system, options, given.seed);
    await deposits.start();
    await deposits.rounds();
    const failed = await system.failed('tron');
    await deposits.rest();
    const requests = await system.admin('/tron/requests', undefined, 'GET');
    const { total, max_in_1s: most }: { readonly total?: number; readonly max_in_1s?: number } =
      requests;
    const report = await verdict(system, {
      projections: ['deposits', 'watch'],
      depositors: deposits.depositors,
      counted: [DEPOSIT_ADDRESSES, TREASURY_LEDGER],
    });
    return {
      ...report,
      failed,
      payables: system.payments.made,
      never_hot: deposits.never_hot,
      lines: [
        ...report.lines,
        `requests that the provider failed: ${countsLine(failed)}`,
        `transactions: ${countsLine(deposits.payments.kinds)}`,
        `requests to the provider: ${total}, at most ${most} within a second of ${options.requests} allowed`,
        `payments shown of addresses that nobody looks at: ${deposits.never_hot}`,
        `the gateway's answers by status (0: nobody listened): ${JSON.stringify(deposits.depositors.answers)}`,
      ],
      violations: [
        ...report.violations,
        ...((most ?? Infinity) > options.requests
          ? [
              `the provider was asked ${most} times within a second, ${options.requests} are allowed`,
            ]
          : []),
      ],
    };
  });
}

export const deposits: FaultRun<keyof Options, DepositReport> = {
  about:
    'people pay to deposit addresses through a provider that fails in every way, while watchers, treasuries, gateway, projectors,\n' +
    'Kafka, Postgres, Redis and the registry are killed or frozen; then each payment has to be one deposit',
  options: {
    transfers: { about: 'how many transactions on TRON', default: 10_000 },
    addresses: { about: 'to how many deposit addresses', default: 1_000 },
    kills: { about: 'how many blows', default: 60 },
    requests: { about: 'how many requests a second the watchers together may make', default: 250 },
  },
  run,
};

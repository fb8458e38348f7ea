/** Opens the watcher's resources and makes passes until the process has to stop. */
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { projectorOf } from '../runtime/process/config.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka, withAdmin } from '../runtime/kafka/client.ts';
import { Membership } from '../runtime/kafka/membership.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Service } from '../runtime/process/main.ts';
import { ReadModelLag } from '../runtime/process/read-model-lag.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import { showHosts } from '../runtime/postgres/hosts.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { aborted, retrying, untilAborted } from '../runtime/process/retry.ts';
import { showProvider } from '../runtime/trongrid/settings.ts';
import { openTronGrid } from '../runtime/trongrid/open.ts';
import { readArrivals } from './arrivals.ts';
import { Condition } from './condition.ts';
import type { readWatcherConfig } from './config.ts';
import { ReadModel } from './read-model.ts';
import type { ShownRetry } from './retries.ts';
import { TransferLog } from './transfer-log.ts';
import { CROSS_CHECK_OUTCOMES } from './comparison.ts';
import { Watcher, type Ages } from './watcher.ts';

const clock = (): number => performance.now();
const IDLE_MS = 1_000;
const PASS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Part of the group's session for which a heartbeat keeps this watcher's share of requests. */
const LEASE = 2 / 3;
/** The treasury is asked this often what it has found. */
const ARRIVALS_EVERY_MS = 60_000;
/** The queue is compared with the log this often. */
const QUEUE_EVERY_MS = 10_000;
/** A transfer that is undecided, or a balance that is unexplained, for this long needs a person. */
const PATIENCE_MS = 600_000;
/** Longest pause of what fails alone, in longest pauses of the provider: five minutes. */
const RETRY_PAUSES = 5;
/** Every query is an index range: only a broken database takes longer. */
const STATEMENT_MS = 10_000;

export async function watchTron({
  config,
  log,
  metrics,
  tracing,
  signal,
  closing,
}: Service<ReturnType<typeof readWatcherConfig>>): Promise<void> {
  const made: { watcher?: Watcher } = {};
  const condition = new Condition(clock, config.silence_ms, () => made.watcher?.about);
  const queueLag = new ReadModelLag('watch', clock, config.silence_ms);
  const shown = (): readonly ShownRetry[] => made.watcher?.retries.shown() ?? [];
  const alarms = (): readonly string[] => alarmsOf(shown(), Date.now());
  const http = await openHttp(config, {
    log,
    metrics,
    routes: [
      {
        method: 'get',
        path: '/retries',
        handle: () => ({ status: 200, body: JSON.stringify({ retries: shown() }) }),
      },
    ],
    checks: [{ name: 'tron-watcher', check: () => condition.problem ?? queueLag.problem }],
    phase: () => 'watching',
    remarks: () => ({ alarms: alarms(), notes: [] }),
  });
  closing.add('http', () => http.drain());

  const kafka = openKafka(config, 'tron-watcher', log);
  const onFault = (fault?: Fault): void =>
    fault === undefined ? condition.recovered() : condition.failed(fault);
  const attempt = <Result>(what: string, run: () => Promise<Result>): Promise<Result> =>
    retrying({ what, log, signal, onFault }, run);
  await attempt('creating the topics', () =>
    ensureTopics(kafka, [DEPOSIT_ADDRESSES, TRON_TRANSFERS]),
  );
  const codec = await attempt('registering the schemas', () =>
    openCodec(config, { kafka, log }, [TRON_TRANSFERS]),
  );
  const reader = openReader(
    {
      postgres_reader_url: config.postgres_reader_url,
      statement_timeout_ms: STATEMENT_MS,
      connections_max: 4,
      postgres_connect_ms: config.postgres_connect_ms,
      postgres_stale_ms: config.postgres_stale_ms,
    },
    'tron-watcher',
    log,
  );
  closing.add('postgres', () => reader.close());
  showHosts(metrics, config.postgres_reader_url);
  const writer = new KafkaWriter(kafka, { log, signal });
  closing.add('kafka', () => writer.close());

  const requests = metrics.counter('tron_requests_total', "requests to TRON's provider", [
    'route',
    'outcome',
  ]);
  const observed = metrics.counter(
    'tron_transfers_observed_total',
    'transfers appended to tron.transfers',
  );
  const checks = metrics.counter(
    'tron_addresses_checked_total',
    'addresses in AddressesChecked records',
  );
  const crossChecks = metrics.counter(
    'tron_cross_checks_total',
    'comparisons of an address balance with the log, by outcome',
    ['outcome'],
  );
  // a first outcome is an increase
  for (const outcome of CROSS_CHECK_OUTCOMES) crossChecks.inc({ outcome }, 0);
  const passSeconds = metrics.histogram(
    'tron_pass_seconds',
    'duration of a pass, without the questions that go on beside the next ones',
    [],
    PASS_SECONDS,
  );
  const passAddresses = metrics.counter('tron_pass_addresses_total', 'addresses checked by passes');
  const headAge = metrics.gauge(
    'tron_head_age_seconds',
    "age of TRON's solidified head by this clock, usually a minute; negative: this clock is slow",
  );
  const partitionsAssigned = metrics.gauge(
    'tron_partitions_assigned',
    'partitions of tron.transfers assigned to this watcher',
  );

  showProvider(metrics, config);
  const { provider, bucket } = openTronGrid(config, config, {
    // one that fails alone is asked about again apart from the others
    single_attempts_max: 1,
    signal,
    onRequest(route, outcome) {
      requests.inc({ route, outcome });
      if (outcome === 'ok') condition.well();
    },
  });
  const transfers = new TransferLog({
    writer: {
      append: (...batch) =>
        condition.appending(
          () => writer.append(...batch),
          () => writer.fault,
        ),
    },
    codec,
    tracing,
    onAppended(events) {
      for (const event of events) {
        if (event.type === 'TransferObserved') observed.inc();
        else checks.inc(event.checked.length);
      }
      condition.well();
    },
  });
  const model = new ReadModel(reader);
  const watcher = new Watcher({
    usdt_contract: config.usdt_contract,
    receipts_max: config.receipts_max,
    pass_addresses_max: config.pass_addresses_max,
    pass_cold_min: config.pass_cold_min,
    cold_every_ms: config.cold_every_ms,
    cross_check_every: config.cross_check_every,
    cross_check_ms: config.cross_check_ms,
    overlap_ms: config.overlap_ms,
    balance_requests_max: config.balance_requests_max,
    provider,
    model,
    transfers,
    log,
    signal,
    now: Date.now,
    retry_ms_min: config.backoff_ms_min,
    retry_ms_max: config.backoff_ms_max * RETRY_PAUSES,
    unexplained_ms: PATIENCE_MS,
    onStep: (step) => condition.doing(step),
    onHeadAge: (ms) => headAge.set(ms / 1_000),
    onCrossCheck: (outcome) => crossChecks.inc({ outcome }),
  });
  made.watcher = watcher;
  closing.add('questions', () => watcher.ended());

  /** `known`: the ends of the partitions at the assignment are known */
  let assigned: { readonly partitions: readonly number[]; known: boolean } | undefined;
  const takeShare = (): void => {
    const ms = config.kafka_session_ms * LEASE;
    bucket.share((assigned?.partitions.length ?? 0) / TRON_TRANSFERS.partitions, ms);
    condition.shared(ms);
  };
  // two holders of one partition do no harm: both append the same facts under the same ids
  const share = new Membership({
    kafka,
    group_id: 'tron-watcher',
    topics: [TRON_TRANSFERS.name],
    session_ms: config.kafka_session_ms,
    log,
    signal,
    onAssigned(shared) {
      const partitions = shared && (shared.get(TRON_TRANSFERS.name) ?? []);
      assigned = partitions === undefined ? undefined : { partitions, known: false };
      partitionsAssigned.set(partitions?.length ?? 0);
      takeShare();
    },
    onHeld: takeShare,
  });
  closing.add('group', () => share.close());
  condition.doing('joining_group');
  await attempt('joining the group of watchers', () => share.start());

  openLateness(metrics, watcher, () => assigned?.partitions ?? []);

  let foundAt = Number.NEGATIVE_INFINITY;
  const find = async (partitions: readonly number[]): Promise<void> => {
    const { treasury_arrivals_url: treasuryArrivalsUrl } = config;
    if (treasuryArrivalsUrl === undefined || clock() < foundAt + ARRIVALS_EVERY_MS) return;
    foundAt = clock();
    try {
      await watcher.find(await readArrivals(treasuryArrivalsUrl, signal), partitions);
    } catch (error) {
      // the treasury is no condition for watching
      if (!(error instanceof Fault)) throw error;
      log.warn({ err: error }, 'what the treasury has found is not known');
    }
  };

  let comparedAt = Number.NEGATIVE_INFINITY;
  const compareQueue = async (): Promise<void> => {
    if (clock() < comparedAt + QUEUE_EVERY_MS) return;
    comparedAt = clock();
    try {
      const folded = await model.folded(DEPOSIT_ADDRESSES.name);
      const [end] = await withAdmin(kafka, (admin) => admin.ends(DEPOSIT_ADDRESSES.name));
      queueLag.ended(end?.high ?? 0n);
      queueLag.saw(folded.get(0) ?? 0n);
    } catch (error) {
      // what is known of the queue stays
      if (!(error instanceof Fault)) throw error;
      log.warn({ err: error }, 'the queue could not be compared with the log');
    }
  };

  const pass = async (): Promise<void> => {
    const begun = clock();
    const mine = assigned;
    if (mine === undefined) return condition.doing('joining_group');
    // the records of the partitions' former watchers have to be folded before any address is asked
    // about
    if (!mine.known) {
      condition.doing('reading_ends');
      const ends = await withAdmin(kafka, (admin) => admin.ends(TRON_TRANSFERS.name));
      transfers.endsAt(ends.map(({ partition, high }) => [partition, high]));
    }
    mine.known = true;
    await find(mine.partitions);
    await compareQueue();
    passAddresses.inc(await waitable(watcher.pass(mine.partitions)));
    passSeconds.observe((clock() - begun) / 1_000);
    condition.passed();
  };
  while (!signal.aborted) {
    const begun = clock();
    try {
      await attempt('a pass', pass);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      // no automatic action is right: the watcher stops until a person has looked
      condition.halted(error.message);
      log.error({ err: error }, 'watcher halted');
      // other watchers take over its partitions
      await share.close();
      await aborted(signal);
    }
    await untilAborted(
      assigned === undefined ? IDLE_MS : Math.max(0, config.pass_every_ms - (clock() - begun)),
      signal,
    );
  }
}

/** Reasons to look although the watcher works, at this time (Unix milliseconds). */
export function alarmsOf(retries: readonly ShownRetry[], at: number): readonly string[] {
  const late = retries.filter(({ since }) => at - Date.parse(since) > PATIENCE_MS);
  const [first] = late;
  if (first === undefined) return [];
  const others = late.length === 1 ? '' : ` (and ${late.length - 1} more)`;
  return [
    `${alarmOf(first)} since ${first.since}: ${first.why}${others}; ops deposit watch lists all`,
  ];
}

function alarmOf({ kind, address, tron_tx_id: tronTxId }: ShownRetry): string {
  switch (kind) {
    case 'address':
      return `${address} gets bad answers`;
    case 'transfer':
      return `transaction ${tronTxId} to ${address} is undecided`;
    case 'balance':
      return `the balance of ${address} is unexplained`;
  }
}

/** Metrics that are computed at each scrape, so that they move while no pass is made. */
export function openLateness(
  metrics: Metrics,
  watcher: Pick<Watcher, 'ages' | 'retries'>,
  partitions: () => readonly number[],
): void {
  let last: { readonly ages: Ages; readonly at: number } | undefined;
  let reading: Promise<Ages> | undefined;
  const ages = async (): Promise<Ages> => {
    try {
      // one reading for the gauges of a scrape
      reading ??= watcher.ages(partitions()).finally(() => (reading = undefined));
      last = { ages: await reading, at: clock() };
      return last.ages;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // without the read model they grow from what it said last
      const { turn = 0, paid = 0, unpaid = 0 } = last?.ages ?? {};
      const more = last === undefined ? 0 : clock() - last.at;
      const grown = (ms: number): number => (ms === 0 ? 0 : ms + more);
      return { turn: grown(turn), paid: grown(paid), unpaid: grown(unpaid) };
    }
  };
  metrics.gauge(
    'tron_cold_check_age_seconds',
    'age of the last check of the address at the front of the rotation; 0: there is none',
    [],
    async function () {
      this.set((await ages()).turn / 1_000);
    },
  );
  metrics.gauge(
    'tron_hot_late_seconds',
    'time for which the hot address that waits longest has been due; 0: there is none',
    ['paid'],
    async function () {
      const { paid, unpaid } = await ages();
      this.set({ paid: 'true' }, paid / 1_000);
      this.set({ paid: 'false' }, unpaid / 1_000);
    },
  );
  const { retries } = watcher;
  metrics.gauge(
    'tron_addresses_failing',
    'addresses of which several lists in a row were bad answers',
    [],
    function () {
      this.set(retries.failing);
    },
  );
  metrics.gauge(
    'tron_transfers_undecided',
    'transfers without a usable receipt, listed by the provider or found by the treasury',
    [],
    function () {
      this.set(retries.transfers.length);
    },
  );
  metrics.gauge(
    'tron_transfers_undecided_seconds',
    'time for which the oldest of these has been undecided; 0: there is none',
    [],
    function () {
      this.set(retries.undecided_ms / 1_000);
    },
  );
}

/** Awaits tables that the projector has not created yet, like a server that is away. */
async function waitable<Result>(pass: Promise<Result>): Promise<Result> {
  try {
    return await pass;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'storage_missing') throw error;
    throw new Fault(error.code, `${error.message}; npx ops start ${projectorOf('watch')}`, {
      retry: true,
      cause: error,
    });
  }
}

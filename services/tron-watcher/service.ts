/** Opens the watcher's resources and makes passes until the process has to stop. */
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka, withAdmin } from '../runtime/kafka/client.ts';
import { Membership } from '../runtime/kafka/membership.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Service } from '../runtime/process/main.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { aborted, retrying, untilAborted } from '../runtime/process/retry.ts';
import { showProvider } from '../runtime/trongrid/settings.ts';
import { openTronGrid } from '../runtime/trongrid/trongrid.ts';
import { Condition } from './condition.ts';
import type { readWatcherConfig } from './config.ts';
import { ReadModel } from './read-model.ts';
import { TransferLog } from './transfer-log.ts';
import { CROSS_CHECK_OUTCOMES, Watcher } from './watcher.ts';

const clock = (): number => performance.now();
const IDLE_MS = 1_000;
const PASS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Part of the group's session for which a heartbeat keeps this watcher's share of requests. */
const LEASE = 2 / 3;
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
  const condition = new Condition(clock, config.silence_ms);
  const http = await openHttp({
    ...config,
    log,
    metrics,
    checks: [{ name: 'tron-watcher', check: () => condition.problem }],
    phase: () => 'watching',
  });
  closing.add('http', () => http.drain());

  const kafka = openKafka({ ...config, client_id: 'tron-watcher' }, log);
  const onFault = (fault?: Fault): void => fault && condition.failed(fault);
  const attempt = <Result>(what: string, run: () => Promise<Result>): Promise<Result> =>
    retrying({ what, log, signal, onFault }, run);
  await attempt('creating the topics', () =>
    ensureTopics(kafka, [DEPOSIT_ADDRESSES, TRON_TRANSFERS]),
  );
  const codec = await attempt('registering the schemas', () =>
    openCodec({ ...config, kafka, log }, [TRON_TRANSFERS]),
  );
  const reader = openReader(
    {
      ...config,
      application_name: 'tron-watcher',
      statement_timeout_ms: STATEMENT_MS,
      connections_max: 2,
    },
    log,
  );
  closing.add('postgres', () => reader.close());
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
    'duration of a pass over the due addresses',
    [],
    PASS_SECONDS,
  );
  const passAddresses = metrics.counter('tron_pass_addresses_total', 'addresses checked by passes');
  const coldAge = metrics.gauge(
    'tron_cold_check_age_seconds',
    'age of the last check of the address at the front of the rotation; 0: there is none',
  );
  const hotLate = metrics.gauge(
    'tron_hot_late_seconds',
    'time for which the hot address that waits longest has been due; 0: there is none',
    ['paid'],
  );
  const headAge = metrics.gauge(
    'tron_head_age_seconds',
    "age of TRON's solidified head by this clock, usually a minute; negative: this clock is slow",
  );
  const failing = metrics.gauge(
    'tron_addresses_failing',
    'addresses about which the provider gave bad answers three times in a row',
  );
  const partitionsAssigned = metrics.gauge(
    'tron_partitions_assigned',
    'partitions of tron.transfers assigned to this watcher',
  );

  showProvider(metrics, config);
  const { provider, bucket } = openTronGrid({
    ...config,
    signal,
    onRequest(route, outcome) {
      requests.inc({ route, outcome });
      if (outcome === 'ok') condition.well();
    },
  });
  const transfers = new TransferLog({
    writer,
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
  const watcher = new Watcher({
    ...config,
    provider,
    model: new ReadModel(reader),
    transfers,
    log,
    signal,
    now: Date.now,
    onStep: (step) => condition.doing(step),
    onAges({ turn, paid, unpaid }) {
      coldAge.set(turn / 1_000);
      hotLate.set({ paid: 'true' }, paid / 1_000);
      hotLate.set({ paid: 'false' }, unpaid / 1_000);
    },
    onHeadAge: (ms) => headAge.set(ms / 1_000),
    onFailing: (addresses) => failing.set(addresses),
    onCrossCheck: (outcome) => crossChecks.inc({ outcome }),
  });

  /** `known`: the ends of the partitions at the assignment are known */
  let assigned: { readonly partitions: readonly number[]; known: boolean } | undefined;
  const takeShare = (): void =>
    bucket.share(
      (assigned?.partitions.length ?? 0) / TRON_TRANSFERS.partitions,
      config.kafka_session_ms * LEASE,
    );
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

  const pass = async (): Promise<void> => {
    const begun = clock();
    const mine = assigned;
    if (mine === undefined) return condition.doing('joining_group');
    // the records of the partitions' former watchers have to be folded before any address is asked
    // about
    if (!mine.known) {
      const ends = await withAdmin(kafka, (admin) => admin.ends(TRON_TRANSFERS.name));
      transfers.endsAt(ends.map(({ partition, high }) => [partition, high]));
    }
    mine.known = true;
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

/** Awaits tables that the projector has not created yet, like a server that is away. */
async function waitable<Result>(pass: Promise<Result>): Promise<Result> {
  try {
    return await pass;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'storage_missing') throw error;
    throw new Fault(error.code, `${error.message}; start \`projector watch\``, {
      retry: true,
      cause: error,
    });
  }
}

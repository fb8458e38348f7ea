/** Opens the watcher's resources and makes passes until the process is told to stop. */
import type { Kafka } from 'kafkajs';
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka, withAdmin } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Service } from '../runtime/process/main.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { aborted, retrying, untilAborted } from '../runtime/process/retry.ts';
import { openTronGrid } from '../runtime/trongrid/trongrid.ts';
import { Condition } from './condition.ts';
import type { readWatcherConfig } from './config.ts';
import { openWatcherMetrics } from './metrics.ts';
import { PartitionShare } from './partition-share.ts';
import { ReadModel } from './read-model.ts';
import { TransferLog } from './transfer-log.ts';
import { Watcher } from './watcher.ts';

const clock = (): number => performance.now();
const IDLE_MS = 1_000;
/** Part of the group's session for which a heartbeat keeps this watcher's share of requests. */
const LEASE = 2 / 3;
/** Every query is an index range: only a broken database takes longer. */
const STATEMENT_MS = 10_000;

export async function watchTron({
  config,
  log,
  metrics,
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
  const opening = {
    log,
    signal,
    onFault: (fault?: Fault): void => fault && condition.failed(fault),
  };
  await retrying({ ...opening, what: 'creating the topics' }, () =>
    ensureTopics(kafka, [DEPOSIT_ADDRESSES, TRON_TRANSFERS]),
  );
  const codec = await retrying({ ...opening, what: 'registering the schemas' }, () =>
    openCodec(config.registry_url, [TRON_TRANSFERS]),
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

  const watcherMetrics = openWatcherMetrics(metrics);
  const { provider, bucket } = openTronGrid({
    ...config,
    signal,
    onRequest(route, outcome) {
      watcherMetrics.requested(route, outcome);
      if (outcome === 'ok') condition.well();
    },
  });
  const transfers = new TransferLog({
    writer,
    codec,
    onAppended(events) {
      watcherMetrics.appended(events);
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
    onColdAge: (ms) => watcherMetrics.coldAge(ms),
    onCrossCheck: (outcome) => watcherMetrics.crossChecked(outcome),
  });

  let assigned: Assigned | undefined;
  const takeShare = (): void =>
    bucket.share(
      (assigned?.partitions.length ?? 0) / TRON_TRANSFERS.partitions,
      config.kafka_session_ms * LEASE,
    );
  const share = new PartitionShare({
    kafka,
    group_id: 'tron-watcher',
    session_ms: config.kafka_session_ms,
    log,
    signal,
    onAssigned(partitions) {
      assigned = partitions === undefined ? undefined : { partitions, known: false };
      watcherMetrics.assigned(partitions?.length ?? 0);
      takeShare();
    },
    onHeld: takeShare,
  });
  closing.add('group', () => share.close());
  condition.doing('joining_group');
  await retrying({ ...opening, what: 'joining the group of watchers' }, () => share.start());

  const pass = async (): Promise<void> => {
    const begun = clock();
    const mine = assigned;
    if (mine === undefined) return condition.doing('joining_group');
    // the records of the partitions' former watchers have to be folded before any address is asked
    // about
    if (!mine.known) transfers.endsAt(await readEnds(kafka));
    mine.known = true;
    watcherMetrics.passed(await waitable(watcher.pass(mine.partitions)), (clock() - begun) / 1_000);
    condition.passed();
  };
  while (!signal.aborted) {
    const begun = clock();
    try {
      await retrying({ ...opening, what: 'a pass' }, pass);
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

interface Assigned {
  readonly partitions: readonly number[];
  /** whether the ends of these partitions at the assignment are known */
  known: boolean;
}

function readEnds(kafka: Kafka): Promise<readonly (readonly [partition: number, end: bigint])[]> {
  return withAdmin(kafka, async (admin) => {
    const ends = await admin.fetchTopicOffsets(TRON_TRANSFERS.name);
    return ends.map(({ partition, high }) => [partition, BigInt(high)] as const);
  });
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

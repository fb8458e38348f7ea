/** Opens what the watcher needs and makes its passes until the process is told to stop. */
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
import { Backoff } from '../runtime/trongrid/backoff.ts';
import { Condition } from './condition.ts';
import type { readWatcherConfig } from './config.ts';
import { openFigures } from './metrics.ts';
import { PartitionShare } from './partition-share.ts';
import { ReadModel } from './read-model.ts';
import { TokenBucket } from '../runtime/trongrid/token-bucket.ts';
import { TransferLog } from './transfer-log.ts';
import { TronGrid } from '../runtime/trongrid/trongrid.ts';
import { Watcher } from './watcher.ts';

const clock = (): number => performance.now();
const IDLE_MS = 1_000;
/** Of the group's session: so long after the last sign of it the share of the requests is this watcher's, and nobody else's. */
const LEASE = 2 / 3;
/** Whom to ask about is a range of an index: longer than this it takes only where something is wrong. */
const STATEMENT_MS = 10_000;

export async function watchTron(
  service: Service<ReturnType<typeof readWatcherConfig>>,
): Promise<void> {
  const { config, log, metrics, signal, closing } = service;
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

  const figures = openFigures(metrics);
  const { tron_api_key: key } = config;
  const bucket = new TokenBucket({ ...config, now: clock, signal });
  const provider = new TronGrid({
    ...config,
    tron_api_key: key === '' ? undefined : key,
    bucket,
    backoff: new Backoff({ ...config, now: clock, random: Math.random }),
    signal,
    onRequest(route, outcome) {
      figures.requested(route, outcome);
      if (outcome === 'ok') condition.well();
    },
  });
  const transfers = new TransferLog({
    writer,
    codec,
    onAppended(events) {
      figures.appended(events);
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
    onColdAge: (ms) => figures.coldAge(ms),
    onCrossCheck: (outcome) => figures.crossChecked(outcome),
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
      figures.assigned(partitions?.length ?? 0);
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
    // what those who had these partitions before have written is to be known before anybody is asked again
    if (!mine.known) transfers.endsAt(await readEnds(kafka));
    mine.known = true;
    figures.passed(await waitable(watcher.pass(mine.partitions)), (clock() - begun) / 1_000);
    condition.passed();
  };
  while (!signal.aborted) {
    const begun = clock();
    try {
      await retrying({ ...opening, what: 'a pass' }, pass);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      // nothing the software can do by itself is right: it says why, and asks nobody until a person has looked
      condition.halted(error.message);
      log.error({ err: error }, 'watcher halted');
      // its part goes to others
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
  /** how far these were written before they were assigned */
  known: boolean;
}

function readEnds(kafka: Kafka): Promise<readonly (readonly [partition: number, end: bigint])[]> {
  return withAdmin(kafka, async (admin) => {
    const ends = await admin.fetchTopicOffsets(TRON_TRANSFERS.name);
    return ends.map(({ partition, high }) => [partition, BigInt(high)] as const);
  });
}

/** The read model is there once the projector has run for the first time: until then it is waited for, like for a server that is away. */
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

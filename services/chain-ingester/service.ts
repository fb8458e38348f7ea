/** Opens the ingester's resources and runs its rounds until the process has to stop. */
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { ChainNode } from '../runtime/clt-node.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import {
  Activity,
  needsPerson,
  waitingFor,
  type HealthProblem,
} from '../runtime/process/health.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { Lease } from '../runtime/kafka/lease.ts';
import { ensureTopics, watchTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Service } from '../runtime/process/main.ts';
import { aborted } from '../runtime/process/retry.ts';
import type { readIngesterConfig } from './config.ts';
import { Follower } from './follower.ts';

/** A round at the head of a silent chain takes the node's long poll. */
const ROUND_MS_MAX = 15_000;

export async function ingest({
  config,
  log,
  metrics,
  tracing,
  signal,
  closing,
}: Service<ReturnType<typeof readIngesterConfig>>): Promise<void> {
  const made: { writer?: KafkaWriter } = {};
  const activity = new Activity({
    log,
    signal,
    describe: ({ code, message }) => `waiting: ${code}: ${message}`,
    silence_ms: ROUND_MS_MAX,
    silent: (ms) =>
      made.writer?.fault === undefined
        ? {
            status: 'waiting',
            message: `nothing has been heard of the brokers or the node for ${Math.round(ms / 1_000)} s: look whether they run`,
          }
        : waitingFor(made.writer.fault),
  });
  let phase = (): string => activity.phase;
  let problem = (): HealthProblem | undefined => activity.problem;
  const http = await openHttp(config, {
    log,
    metrics,
    checks: [{ name: 'chain.blocks', check: () => problem() }],
    phase: () => phase(),
  });
  closing.add('http', () => http.drain());

  const kafka = openKafka(config, 'chain-ingester', log);
  await activity.retrying('creating the topic', () => ensureTopics(kafka, [CHAIN_BLOCKS]));
  const codec = await activity.retrying('registering the schemas', () =>
    openCodec(config, { kafka, log }, [CHAIN_BLOCKS]),
  );
  const writer = new KafkaWriter(kafka, { log, signal, metrics });
  made.writer = writer;
  closing.add('kafka', () => writer.close());
  void watchTopics({ kafka, topics: [CHAIN_BLOCKS], metrics, log, signal });

  const events = metrics.counter('chain_events_total', 'events appended to chain.blocks', ['type']);
  let head = { height: -1, at: Number.NEGATIVE_INFINITY };
  metrics.gauge(
    'chain_node_height',
    'height of the newest block at the node; none while it was not heard of lately',
    [],
    function () {
      // an old height would say that the node has stopped
      if (performance.now() - head.at > ROUND_MS_MAX) this.remove();
      else this.set(head.height);
    },
  );
  const height = metrics.gauge('chain_log_height', 'height of the newest block in the log');
  const races = metrics.counter(
    'chain_races_lost_total',
    'appends that had no effect, since another writer came first',
  );
  const lease = new Lease({
    kafka,
    group_id: 'chain-ingester',
    topic: CHAIN_BLOCKS.name,
    session_ms: config.kafka_session_ms,
    log,
    metrics,
    signal,
    onStandbyHeard: () => activity.heard(),
  });
  phase = () => lease.phase(activity.phase);
  problem = () => lease.problem ?? activity.problem;
  closing.add('lease', () => lease.close());
  await activity.retrying('joining the group of ingesters', () => lease.start());
  const follower = new Follower({
    kafka,
    lease,
    codec,
    writer,
    node: new ChainNode(config.node_url, signal),
    chain_id: config.chain_id,
    log,
    tracing,
    signal,
    onHead: (node) => (head = { height: node, at: performance.now() }),
    onAppended(appended) {
      for (const { type } of appended) events.inc({ type });
    },
    onLostRace: () => races.inc(),
  });

  activity.enter('following');
  while (!signal.aborted) {
    if (!lease.is_held) {
      await lease.held();
      if (signal.aborted) return;
      activity.heard();
    }
    try {
      await activity.retrying('following the node', () =>
        follower.round().catch((error: unknown) => {
          // the halt may be this instance's own
          if (error instanceof Fault && needsPerson(error)) lease.yield();
          throw error;
        }),
      );
      activity.heard();
      activity.enter('following');
      height.set(follower.height);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      // no automatic action is right: the ingester stops writing until a person has looked
      activity.halt(error.message);
      log.error({ err: error }, 'ingester halted');
      await lease.close();
      await aborted(signal);
    }
  }
}

/** Opens what the ingester needs and runs its rounds until the process is told to stop. */
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { ChainNode } from '../runtime/clt-node.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Service } from '../runtime/process/main.ts';
import { aborted, retrying } from '../runtime/process/retry.ts';
import type { readIngesterConfig } from './config.ts';
import { Follower } from './follower.ts';

/** A round at the head of a silent chain takes the node's long poll. */
const ROUND_SECONDS_MAX = 15;

export async function ingest({
  config,
  log,
  metrics,
  signal,
  closing,
}: Service<ReturnType<typeof readIngesterConfig>>): Promise<void> {
  let matter: string | undefined = 'starting';
  let rounded = performance.now();
  const check = (): string | undefined => {
    const seconds = Math.round((performance.now() - rounded) / 1_000);
    return (
      matter ??
      (seconds > ROUND_SECONDS_MAX
        ? `nothing has been heard of the brokers or the node for ${seconds} s`
        : undefined)
    );
  };
  const http = await openHttp({
    ...config,
    log,
    metrics,
    checks: [{ name: 'chain.blocks', check }],
  });
  closing.add('http', () => http.drain());

  const kafka = openKafka({ ...config, client_id: 'chain-ingester' }, log);
  const opening = { log, signal };
  await retrying({ ...opening, what: 'creating the topic' }, () =>
    ensureTopics(kafka, [CHAIN_BLOCKS]),
  );
  const codec = await retrying({ ...opening, what: 'registering the schemas' }, () =>
    openCodec(config.registry_url, [CHAIN_BLOCKS]),
  );
  const writer = new KafkaWriter(kafka, { log, signal });
  closing.add('kafka', () => writer.close());

  const events = metrics.counter('chain_events_total', 'events appended to chain.blocks', ['type']);
  const head = metrics.gauge('chain_node_height', 'height of the newest block at the node');
  const height = metrics.gauge('chain_log_height', 'height of the newest block in the log');
  const follower = new Follower({
    kafka,
    codec,
    writer,
    node: new ChainNode(config.node_url, signal),
    chain_id: config.chain_id,
    log,
    signal,
    onHead: (node) => head.set(node),
    onAppended(appended) {
      for (const { type } of appended) events.inc({ type });
    },
  });

  const onFault = (fault: Fault | undefined): void => {
    matter = fault === undefined ? undefined : `waiting: ${fault.code}: ${fault.message}`;
    rounded = performance.now();
  };
  while (!signal.aborted) {
    try {
      await retrying({ ...opening, what: 'following the node', onFault }, () => follower.round());
      height.set(follower.height);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      // nothing the software can do by itself is right: it says why, and stops writing until a person has looked
      matter = `halted: ${error.message}`;
      log.error({ err: error }, 'ingester halted');
      await aborted(signal);
    }
  }
}

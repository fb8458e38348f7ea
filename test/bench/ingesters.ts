/**
 * Several chain-ingesters against one alone: how fast they catch up, and how late a block is in the
 * log when the node makes ten a second. Each way has a log of its own, by its prefix.
 */
import { evolve, EMPTY_CHAIN, type Chain } from '../../projections/chain/chain.ts';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { figureOf } from '../faults/processes.ts';
import { openCodec } from '../support/codec.ts';
import { readChainEvents } from '../support/plain-fold.ts';
import { ScriptedNode } from '../support/scripted-node.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { say, type Bench } from './bench.ts';
import { median, percentile, type BenchReport } from './report.ts';

type Option = 'blocks' | 'followed' | 'rounds';

const COUNTS = [1, 2, 3] as const;
const EVERY_MS = 100;
const SESSION_MS = 3_000;
const GOAL = 0.9;
const DEAD_SHARE_MAX = 0.01;

export const ingesters: Bench<Option> = {
  about: 'two and three chain-ingesters, against one alone',
  options: {
    blocks: { about: 'that they catch up', default: 5_000 },
    followed: { about: 'that they follow, ten a second', default: 300 },
    rounds: { about: 'of each way, in turns', default: 3 },
  },
  run,
};

interface Way {
  readonly count: number;
  /** blocks a second */
  readonly caught_up: number[];
  /** ms from the node's block to the log */
  readonly p50: number[];
  readonly p99: number[];
  /** events in the logs, and how many of them have no effect */
  events: number;
  dead: number;
}

async function run(options: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const ways = COUNTS.map((count): Way => ({
      count,
      caught_up: [],
      p50: [],
      p99: [],
      events: 0,
      dead: 0,
    }));
    for (let round = 1; round <= options.rounds; round++)
      for (const way of ways) {
        await measure(stack, way, options, `round${round}.of${way.count}.`);
        say(
          `round ${round} of ${options.rounds}, ${way.count} ingesters: ${Math.round(way.caught_up.at(-1) ?? 0)} blocks a second, then ${way.p50.at(-1)?.toFixed(1)} ms a block`,
        );
      }
    return reportOf(ways, options);
  } finally {
    await stack.stop();
  }
}

async function measure(
  stack: Stack,
  way: Way,
  { blocks, followed }: Readonly<Record<Option, number>>,
  prefix: string,
): Promise<void> {
  const node = new ScriptedNode();
  const settings = {
    APP_NODE_URL: await node.listen(),
    APP_KAFKA_PREFIX: prefix,
    APP_KAFKA_SESSION_MS: String(SESSION_MS),
    APP_LOG_LEVEL: 'warn',
  };
  node.grow(1);
  const services: ServiceHandle[] = [];
  for (let at = 0; at < way.count; at++)
    services.push(await stack.spawnService('chain-ingester', settings));
  try {
    for (const service of services) await service.ready();
    await inLog(services, 0);
    const begun = performance.now();
    node.grow(blocks);
    await inLog(services, blocks);
    way.caught_up.push(blocks / ((performance.now() - begun) / 1_000));
    const delays = await follow(stack, node, prefix, followed);
    way.p50.push(percentile(delays, 0.5));
    way.p99.push(percentile(delays, 0.99));
    await countRecords(stack, way, prefix);
  } finally {
    await Promise.all(services.map((service) => service.kill('SIGTERM')));
    await Promise.all(services.map((service) => service.waitExit()));
    await node.close();
  }
}

/** Waits until the block is in the log. */
async function inLog(services: readonly ServiceHandle[], height: number): Promise<void> {
  await until(async () => {
    const heights = await Promise.all(
      services.map((service) => figureOf(service, 'chain_log_height')),
    );
    return Math.max(...heights) >= height;
  }, `block ${height} in the log`);
}

function kafkaOf(stack: Stack, kafka_prefix: string): ReturnType<typeof openKafka> {
  const log = openLog({ service: 'bench', level: 'error' });
  const kafka_brokers = [stack.addresses.kafka_brokers];
  return openKafka({ kafka_brokers, kafka_prefix }, 'bench', log);
}

/** Milliseconds from each new block at the node until the log has it. */
async function follow(
  stack: Stack,
  node: ScriptedNode,
  prefix: string,
  blocks: number,
): Promise<number[]> {
  const kafka = kafkaOf(stack, prefix);
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  const events = await readChainEvents(kafka, codec);
  const fetcher = kafka.fetcher();
  const topic = CHAIN_BLOCKS.name;
  const topic_id = await fetcher.topicId(topic);
  let offset = BigInt(events.length);
  const made = new Map<number, number>();
  const making = setInterval(() => {
    if (made.size === blocks) return;
    made.set(node.height + 1, performance.now());
    node.grow(1);
  }, EVERY_MS);
  const delays: number[] = [];
  try {
    while (delays.length < blocks) {
      const position = { topic, topic_id, partition: 0, offset, bytes_max: 1 << 20, wait_ms: 500 };
      for (const { records, last_offset: last } of await fetcher.fetch(position)) {
        const now = performance.now();
        for (const { value } of records) {
          const event = codec.decode(value);
          const isBlock = isChainEvent(event) && event.type === 'BlockAppended';
          const since = isBlock ? made.get(event.height) : undefined;
          if (since !== undefined) delays.push(now - since);
        }
        offset = last + 1n;
      }
    }
  } finally {
    clearInterval(making);
    await fetcher.disconnect();
  }
  return delays;
}

async function countRecords(stack: Stack, way: Way, prefix: string): Promise<void> {
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  let chain: Chain = EMPTY_CHAIN;
  for (const [offset, event] of (await readChainEvents(kafkaOf(stack, prefix), codec)).entries()) {
    const step = evolve(chain, event, BigInt(offset));
    if (step.verdict === 'broken') throw new Error(`the log is broken: ${step.reason}`);
    if (step.verdict === 'applied') chain = step.chain;
    else way.dead++;
    way.events++;
  }
}

function reportOf(
  ways: readonly Way[],
  { blocks, followed }: Readonly<Record<Option, number>>,
): BenchReport {
  const [alone] = ways;
  if (alone === undefined) throw new Error('nothing was measured');
  const several = ways.filter((way) => way !== alone);
  return {
    bench: 'ingesters',
    about: `empty blocks: ${blocks} to catch up, then ${followed}, one each ${EVERY_MS} ms`,
    measured: ways.flatMap(({ count: of, caught_up, p50, p99 }) => [
      { what: `${of}: catching up`, unit: 'blocks/s', rounds: caught_up },
      { what: `${of}: from the node to the log, p50`, unit: 'ms', rounds: p50 },
      { what: `${of}: from the node to the log, p99`, unit: 'ms', rounds: p99 },
    ]),
    ratios: [
      ...several.flatMap((way) => [
        {
          what: `catching up, ${way.count} against one`,
          ratio: median(way.caught_up) / median(alone.caught_up),
          goal: `>= ${GOAL}`,
        },
        {
          what: `following, one against ${way.count} (p50)`,
          ratio: median(alone.p50) / median(way.p50),
          goal: `>= ${GOAL}`,
        },
      ]),
      {
        what: 'records without effect',
        ratio:
          several.reduce((sum, { dead }) => sum + dead, 0) /
          several.reduce((sum, { events }) => sum + events, 0),
        goal: `<= ${DEAD_SHARE_MAX}`,
      },
    ],
  };
}

/**
 * From a block of the node to the explorer's answer, through Kafka and Postgres, at the head of the
 * chain. Births are watched apart from answers, so that a slow answer delays no other.
 */
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import type { Bench } from './bench.ts';
import { birthsFrom } from './births.ts';
import { percentile, type BenchReport } from './report.ts';

const BLOCKS = 300;
const WARM_UP = 20;

export const blockToAnswer: Bench = {
  about: "from the node's block to the explorer's answer",
  options: {},
  run,
};

async function run(): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const devnet = await stack.spawnService('devnet', {
      APP_BLOCK_INTERVAL_MS: '100',
      APP_TRAFFIC_PER_SECOND: '20',
    });
    await devnet.ready();
    const [, , gateway] = await Promise.all([
      stack.spawnService('chain-ingester'),
      stack.spawnService('projector-explorer'),
      stack.spawnService('explorer-gateway', { APP_RATE_PER_SECOND: '0' }),
    ]);
    const first = await caughtUp(stack, gateway.url);
    const shown = async (height: number): Promise<number> => {
      while ((await get(`${gateway.url}/api/v1/blocks/${height}`)) === 404);
      return performance.now();
    };
    const asked: Promise<number>[] = [];
    let unknown = 0;
    for await (const { height, born } of birthsFrom(stack.addresses.node_url, first)) {
      if (height >= first + WARM_UP + BLOCKS) break;
      const answered = shown(height);
      if (height < first + WARM_UP) await answered;
      else if (born === undefined) unknown++;
      else asked.push(answered.then((at) => at - born));
    }
    const samples = await Promise.all(asked);
    return {
      bench: 'block-to-answer',
      about: `${BLOCKS} blocks, 10 a second, each asked for at the explorer from the moment the node gave it out; ${unknown} left out, whose birth was noticed late`,
      measured: [
        { what: 'node to explorer, p50', unit: 'ms', rounds: [percentile(samples, 0.5)] },
        { what: 'node to explorer, p99', unit: 'ms', rounds: [percentile(samples, 0.99)] },
        { what: 'node to explorer, slowest', unit: 'ms', rounds: [Math.max(...samples)] },
      ],
      ratios: [],
    };
  } finally {
    await stack.stop();
  }
}

/** Status of the answer, its body read. */
async function get(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

/** The height that comes next at both ends. */
async function caughtUp(stack: Stack, explorer: string): Promise<number> {
  const node = new ChainNode(stack.addresses.node_url, new AbortController().signal);
  let next = 0;
  await until(async () => {
    const { height } = (await node.chain()).head;
    next = height + 1;
    return (await get(`${explorer}/api/v1/blocks/${height}`)) === 200;
  }, 'the explorer at the head of the chain');
  return next;
}

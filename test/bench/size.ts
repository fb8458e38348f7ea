/**
 * Scaling: load time and memory for a hundredth, a tenth and all of the transactions, and the
 * latency of pages afterwards.
 */
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { checkRows } from './check-rows.ts';
import { dropDatabase, useMemory, withPool } from './databases.ts';
import type { Loaded } from './load-projection.ts';
import type { BenchReport } from './report.ts';
import { comparePages, loadChain, loadFigures, loadSeconds, type Sized } from './sized-chain.ts';

type Option = 'transactions' | 'rounds' | 'repeats' | 'requests' | 'seed';

export const size: Bench<Option> = {
  about: 'load time, memory and page times at a hundredth, a tenth and all of so many transactions',
  options: {
    transactions: { about: 'of the largest chain', default: 10_000_000 },
    // repeated: the machine's speed varies more between short runs than the effect that is measured
    rounds: { about: 'of loading a tenth of it', default: 3 },
    repeats: { about: 'of loading all of it', default: 2 },
    requests: { about: 'of each list at the smallest and at the largest', default: 10_000 },
    seed: { about: 'of the chains', default: 1 },
  },
  run,
};

async function run({
  transactions,
  rounds,
  repeats,
  requests,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const loadShare = (share: number, times = 1): Promise<Sized> =>
      loadChain(stack, { transactions: Math.ceil(transactions / share), seed }, times);
    const check = ({ transactions: count, database, filled }: Sized): Promise<void> =>
      withPool(database, (pool) => checkRows(pool, { transactions: count, seed }, filled.counts));
    say('using all of Postgres’ memory once');
    await useMemory(stack);
    const small = await loadShare(100);
    await check(small);
    const middle = await loadShare(10, rounds);
    await check(middle);
    // it is only loaded: in Postgres' memory it would take the room of those that are asked
    await dropDatabase(stack, middle.database);
    const large = await loadShare(1, repeats);
    const sizes = [small, middle, large];
    for (const server of ['kafka', 'registry', 'redis'] as const)
      await stack.servers[server].stop();
    const pages = await comparePages(stack, [small, large], requests, seed, '<= 1.3');
    // after what it puts out of memory was asked for: it reads whole tables
    await check(large);
    return {
      bench: 'size',
      about: `${sizes.map(({ transactions: count }) => count.toLocaleString('en')).join(', ')} transactions; small is the first, large the last; ${requests} requests of each list to each, one at a time, in turns, p99 the median of five stretches`,
      measured: [...loadFigures(sizes), ...pages.measured],
      detail: pages.detail,
      ratios: [
        {
          what: 'load time without the start, large / a tenth of it',
          ratio: loadSeconds(large) / loadSeconds(middle),
          goal: '<= 11',
        },
        {
          what: 'memory, peak of the last 80 % / of the first 20 % of the load',
          ratio: Math.max(...large.loaded.map(growth)),
          goal: '<= 1.2',
        },
        ...pages.ratios,
      ],
    };
  } finally {
    await stack.stop();
  }
}

function growth({ resident }: Loaded): number {
  const early = Math.ceil(resident.length * 0.2);
  return Math.max(...resident.slice(early)) / Math.max(...resident.slice(0, early));
}

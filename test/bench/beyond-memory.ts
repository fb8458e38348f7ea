/**
 * A chain whose tables are four times as large as the memory that Postgres may use: load time
 * against a third of it under the same limit, the projector's memory, pages from the disk against a
 * chain that fits, and bytes on disk.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { checkedBy, checkRows } from './check-rows.ts';
import { dropDatabase, settle, withPool } from './databases.ts';
import { dropFileCache, MemoryLimit } from './memory-limit.ts';
import type { Loaded } from './load-projection.ts';
import type { BenchReport } from './report.ts';
import { comparePages, loadChain, loadFigures, loadSeconds, type Sized } from './sized-chain.ts';
import { bytesFigures, relationBytes } from './storage.ts';

type Option = 'transactions' | 'requests' | 'seed';

export const beyondMemory: Bench<Option> = {
  about:
    'load time, pages and bytes of a chain of which a quarter fits into the memory of Postgres',
  options: {
    transactions: { about: 'of the largest chain', default: 30_000_000 },
    requests: { about: 'of each list at a small chain and at the largest', default: 2_000 },
    seed: { about: 'of the chains', default: 1 },
  },
  run,
};

const SMALL = 100_000;
/** Bytes of tables and indexes a transaction when the goal was set: at most four fifths of them. */
const BYTES_BEFORE = 1_072;
const SHARE = 1 / 4;
const SETTINGS = { shared_buffers: '2GB', effective_cache_size: '6GB' };
/** `shared_buffers`, and memory that its processes need beside. */
const MEMORY_MIN = 2.5 * 2 ** 30;

async function run({
  transactions,
  requests,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack({ postgres_settings: SETTINGS });
  let limit: MemoryLimit | undefined;
  try {
    const small = await loadChain(stack, { transactions: SMALL, seed });
    await withPool(small.database, (pool) =>
      checkRows(pool, { transactions: SMALL, seed }, small.filled.counts),
    );
    const smallBytes = sum((await withPool(small.database, relationBytes)).values());
    const memory = Math.max(MEMORY_MIN, (smallBytes / SMALL) * transactions * SHARE);
    limit = new MemoryLimit(memory);
    const { postgres } = stack.servers;
    const makeCold = async (): Promise<void> => {
      await settle(stack);
      await postgres.stop();
      // Postgres would read again what it had in memory
      rmSync(join(stack.folder.data, 'postgres', 'cluster', 'autoprewarm.blocks'), { force: true });
      dropFileCache();
      await postgres.start();
      limit?.add(postgres.pid ?? 0);
    };
    say(`Postgres may use ${Math.round(memory / 2 ** 20)} MiB`);
    // shared memory counts where it is taken: in a Postgres of this limit alone
    await makeCold();
    const third = await loadChain(stack, { transactions: Math.ceil(transactions / 3), seed });
    await dropDatabase(stack, third.database);
    const large = await loadChain(stack, { transactions, seed });
    const bytes = await withPool(large.database, relationBytes);
    const log = { plain: large.filled.bytes, on_disk: topicBytes(stack) };
    for (const server of ['kafka', 'registry', 'redis'] as const)
      await stack.servers[server].stop();
    await makeCold();
    const pages = await comparePages(stack, [small, large], requests, seed, '<= 3');
    // without the limit: how long this takes is not measured
    await postgres.stop();
    await postgres.start();
    say('checking the rows');
    await withPool(large.database, (pool) =>
      checkRows(pool, { transactions, seed }, large.filled.counts),
    );
    const sizes: readonly Sized[] = [small, third, large];
    const all = sum(bytes.values());
    return {
      bench: 'beyond-memory',
      about: `${sizes.map(({ transactions: count }) => count.toLocaleString('en')).join(', ')} transactions; Postgres may use ${Math.round(memory / 2 ** 20)} MiB, the kernel's cache of its files included; ${requests} requests of each list to the first and the last, one at a time, in turns, p99 the median of five stretches; ${checkedBy({ transactions, seed })}`,
      measured: [
        ...loadFigures(sizes),
        { what: 'tables and indexes of the large', unit: 'MiB', rounds: [all / 2 ** 20] },
        ...bytesFigures(bytes, transactions, log),
        ...pages.measured,
      ],
      detail: pages.detail,
      ratios: [
        {
          what: 'load time without the start, large / a third of it',
          ratio: loadSeconds(large) / loadSeconds(third),
          goal: '<= 3.3',
        },
        {
          what: 'memory, peak of the last 80 % / of the first 20 % of the load',
          ratio: growth(large.loaded),
          goal: '<= 1.2',
        },
        ...pages.ratios,
        {
          what: `tables and indexes, bytes a transaction / ${BYTES_BEFORE.toLocaleString('en')}`,
          ratio: all / transactions / BYTES_BEFORE,
          goal: '<= 0.8',
        },
        {
          what: 'log, bytes on disk / bytes of its values',
          ratio: log.on_disk / log.plain,
          goal: '<= 0.8',
        },
      ],
    };
  } finally {
    await stack.stop();
    limit?.remove();
  }
}

function growth({ resident }: Loaded): number {
  const early = Math.ceil(resident.length * 0.2);
  return Math.max(...resident.slice(early)) / Math.max(...resident.slice(0, early));
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}

/** The segments of `chain.blocks` on this machine. */
function topicBytes({ folder }: Stack): number {
  const topic = join(folder.data, 'kafka', `${CHAIN_BLOCKS.name}-0`);
  const segments = readdirSync(topic).filter((name) => name.endsWith('.log'));
  return sum(segments.map((name) => statSync(join(topic, name)).size));
}

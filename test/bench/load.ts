/** A load: the projector from an empty database to live, against what Postgres can do at best. */
import { openLog } from '../../services/runtime/process/log.ts';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { checkedBy, checkRows } from './check-rows.ts';
import { dropDatabase, emptyDatabase, useMemory, withPool } from './databases.ts';
import { fillTopic } from './fill-topic.ts';
import { loadByProjector, type Loaded } from './load-projection.ts';
import { dumpTables, rawCopy, type Dump, type RawSeconds } from './raw-copy.ts';
import { median, type BenchReport } from './report.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'transactions' | 'rounds' | 'seed';

export const load: Bench<Option> = {
  about:
    'the first start of a projector on a long log, until its tables are live, against raw COPY with the same index build',
  options: {
    transactions: { about: 'on the generated chain', default: 1_000_000 },
    rounds: { about: 'of each way, in turns', default: 5 },
    seed: { about: 'of the chain', default: 1 },
  },
  run,
};

async function run({
  transactions,
  rounds,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const settings = { transactions, seed };
  const stack = await startStack();
  try {
    // of the ways in turns the first would pay for it, and that is always the projector
    say('using all of Postgres’ memory once');
    await useMemory(stack);
    const filled = await fillTopic(stack.addresses, settings, log, say);
    const projected: number[] = [];
    const starting: number[] = [];
    const raw: number[] = [];
    const rawInTurn: number[] = [];
    const rawAsHere: number[] = [];
    const rawCopied: number[] = [];
    const processor: Loaded['processor'][] = [];
    const rawProcessor: RawSeconds['processor'][] = [];
    let dump: Dump | undefined;
    for (let round = 0; round < rounds; round++) {
      const database = await emptyDatabase(stack);
      const loaded = await loadByProjector(stack, database, filled.end);
      const { seconds } = loaded;
      await withPool(database, (pool) => checkRows(pool, settings, filled.counts));
      dump ??= await dumpTables(stack, database);
      await dropDatabase(stack, database);
      projected.push(dump.rows / seconds);
      starting.push(loaded.starting_seconds);
      processor.push(loaded.processor);
      const raws = await rawCopy(stack, dump);
      const { copy, index, index_as_here: indexAsHere, analyze } = raws;
      rawProcessor.push(raws.processor);
      raw.push(dump.rows / (copy + Math.min(index, indexAsHere) + analyze));
      rawInTurn.push(dump.rows / (copy + index + analyze));
      rawAsHere.push(dump.rows / (copy + indexAsHere + analyze));
      rawCopied.push(dump.rows / copy);
      say(
        `round ${round + 1} of ${rounds}: projector ${seconds.toFixed(1)} s; raw COPY ${copy.toFixed(1)} s, indexes ${index.toFixed(1)} s (${indexAsHere.toFixed(1)} s two at a time), ANALYZE ${analyze.toFixed(1)} s`,
      );
    }
    const mib = Math.round(filled.bytes / 2 ** 20);
    return {
      bench: 'load',
      about: `${transactions} transactions in ${filled.counts.blocks} blocks (${mib} MiB of log), ${dump?.rows ?? 0} rows; in every round ${checkedBy(settings)}`,
      measured: [
        { what: 'projector process, empty database to live', unit: 'rows/s', rounds: projected },
        { what: '  of which start of the process and its tables', unit: 's', rounds: starting },
        ...(['projector', 'postgres', 'kafka'] as const).map((who) => ({
          what: `  processor time of ${who}`,
          unit: 's',
          rounds: processor.map((each) => each[who]),
        })),
        {
          what: 'raw COPY BINARY FREEZE over two connections, then the same indexes in the faster way, then ANALYZE',
          unit: 'rows/s',
          rounds: raw,
        },
        {
          what: "  with one index after the other, each by Postgres' own workers",
          unit: 'rows/s',
          rounds: rawInTurn,
        },
        {
          what: '  with two indexes at a time, as the projector builds them',
          unit: 'rows/s',
          rounds: rawAsHere,
        },
        { what: '  of which COPY alone', unit: 'rows/s', rounds: rawCopied },
        ...(['client', 'postgres'] as const).map((who) => ({
          what: `  processor time of ${who}, with two indexes at a time`,
          unit: 's',
          rounds: rawProcessor.map((each) => each[who]),
        })),
        {
          what: 'the generator, into the topic',
          unit: 'transactions/s',
          rounds: [transactions / filled.seconds],
        },
      ],
      ratios: [
        {
          what: 'load / raw COPY and index build',
          ratio: median(projected) / median(raw),
          goal: '>= 0.6',
        },
      ],
    };
  } finally {
    await stack.stop();
  }
}

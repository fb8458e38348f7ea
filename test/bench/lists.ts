/**
 * The gateway's lists against a bare node:http and pg server that sends the same statements' rows.
 */
import { join } from 'node:path';
import { childFault, plainEnvironment, spawnChild } from '../../infra/local/process/child.ts';
import { checkout } from '../../infra/local/stack/folder.ts';
import { toHex } from '../../schemas/address.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { Random } from '../support/random.ts';
import { takePort } from '../support/free-ports.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle, vacuum, type BenchDatabase } from './databases.ts';
import { fillTopic } from './fill-topic.ts';
import { load } from './load.ts';
import { loadByProjector } from './load-projection.ts';
import { processorSeconds } from './process-figures.ts';
import { median, type BenchReport, type Measured, type Ratio } from './report.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'transactions' | 'connections' | 'seconds' | 'rounds' | 'seed';

export const lists: Bench<Option> = {
  about: 'list answers a second, against a bare node:http and pg server sending the same rows',
  options: {
    transactions: { about: 'in the database', default: 100_000 },
    connections: { about: 'kept alive, each with one request in flight', default: 8 },
    seconds: { about: 'of a round of one list at one server', default: 3 },
    rounds: { about: 'of each list at each server, in turns', default: 5 },
    seed: { about: 'of the chain', default: 1 },
  },
  run,
};

/** Until then a server is still being compiled: each round before is faster than the last. */
const WARM_UP_SECONDS = 10;

/** Pages all over a list, hardly ever the same: each has to be read. */
function anyPage(path: string, rows: number, seed: number): () => string {
  const random = new Random(seed);
  return () => `${path}&offset=${random.below(rows)}`;
}

interface Server {
  readonly pid: number;
  /** without a path */
  readonly url: string;
}

interface BareServer extends Server {
  stop(): Promise<unknown>;
}

interface Figures {
  readonly per_second: number[];
  readonly processor_us: number[];
}

async function run({
  transactions,
  connections,
  seconds,
  rounds,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  let bare: BareServer | undefined;
  try {
    const { counts, end } = await fillTopic(stack.addresses, { transactions, seed }, log, say);
    const database = await emptyDatabase(stack);
    await loadByProjector(stack, database, end);
    await vacuum(stack, database);
    const hot = toHex(counts.hot.address);
    const settings = {
      APP_POSTGRES_READER_URL: database.reader_url,
      APP_RATE_PER_SECOND: '0',
      APP_LOG_LEVEL: 'warn',
    };
    const gateway = await stack.spawnService('explorer-gateway', settings);
    await gateway.ready();
    bare = await spawnBareServer(stack, database, hot);
    // only the two servers and Postgres share the processors from here on
    for (const server of ['kafka', 'registry'] as const) await stack.servers[server].stop();
    await settle(stack);

    const ofHot = `/api/v1/transactions?limit=20&address=${hot}`;
    const pages: Readonly<Record<string, () => string>> = {
      'any page of blocks': anyPage('/api/v1/blocks?limit=20', counts.blocks, seed),
      'any page of transactions': anyPage('/api/v1/transactions?limit=20', transactions, seed),
      "any page of the hot address' transactions": anyPage(ofHot, counts.hot.transactions, seed),
      'newest transactions, again and again': () => '/api/v1/transactions?limit=20',
    };
    const measured: Measured[] = [];
    const ratios: Ratio[] = [];
    for (const [list, path] of Object.entries(pages)) {
      const ours: Figures = { per_second: [], processor_us: [] };
      const theirs: Figures = { per_second: [], processor_us: [] };
      for (const { url } of [gateway, bare])
        await load({ url, path, connections, seconds: WARM_UP_SECONDS });
      for (let round = 0; round < rounds; round++) {
        await measure(gateway, path, connections, seconds, ours);
        await measure(bare, path, connections, seconds, theirs);
      }
      measured.push(
        { what: `${list}: gateway`, unit: 'requests/s', rounds: ours.per_second },
        { what: `${list}: bare server`, unit: 'requests/s', rounds: theirs.per_second },
        {
          what: `${list}: gateway, processor time`,
          unit: 'us a request',
          rounds: ours.processor_us,
        },
        {
          what: `${list}: bare server, processor time`,
          unit: 'us a request',
          rounds: theirs.processor_us,
        },
      );
      ratios.push(
        {
          what: `${list}: requests/s, gateway / bare`,
          ratio: median(ours.per_second) / median(theirs.per_second),
          goal: '>= 0.8',
        },
        {
          what: `${list}: processor time, bare / gateway`,
          ratio: median(theirs.processor_us) / median(ours.processor_us),
        },
      );
      say(`${list}: done`);
    }
    const about = `${transactions} transactions, ${connections} kept-alive connections, the load from this process, on as few processors as there are`;
    return { bench: 'lists', about, measured, ratios };
  } finally {
    await bare?.stop();
    await stack.stop();
  }
}

async function spawnBareServer(
  stack: Stack,
  database: BenchDatabase,
  hot: string,
): Promise<BareServer> {
  const { port, release } = await takePort();
  const args = [
    join(import.meta.dirname, 'bare-server.ts'),
    String(port),
    database.reader_url,
    hot,
  ];
  const child = await spawnChild(
    'bare-server',
    { file: process.execPath, args, env: plainEnvironment(), cwd: checkout },
    stack.folder,
  );
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await child.kill();
    release();
  };
  const answers = async (): Promise<boolean> => {
    if (child.exited !== undefined) throw new Error(childFault(child, 'ended'));
    const response = await fetch(`${url}/`);
    await response.arrayBuffer();
    return response.status === 404;
  };
  try {
    await until(answers, 'the bare server');
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: child.pid, url, stop };
}

async function measure(
  server: Server,
  path: () => string,
  connections: number,
  seconds: number,
  into: Figures,
): Promise<void> {
  const before = processorSeconds(server.pid);
  const { requests, seconds: took } = await load({
    url: server.url,
    path,
    connections,
    seconds,
  });
  into.per_second.push(requests / took);
  into.processor_us.push(((processorSeconds(server.pid) - before) / requests) * 1e6);
}

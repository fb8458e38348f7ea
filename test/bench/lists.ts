/**
 * The gateway's lists against a bare node:http and pg server that sends the same bodies:
 * by a gateway that reads each page anew, and by one that keeps answers.
 */
import { toHex } from '../../schemas/address.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { Random } from '../support/random.ts';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle, vacuum } from './databases.ts';
import { fillTopic } from './fill-topic.ts';
import { askInALoop } from './closed-loop.ts';
import { loadByProjector } from './load-projection.ts';
import { processorSeconds } from './process-figures.ts';
import { median, type BenchReport, type Measured, type Ratio } from './report.ts';
import { startSideServer, type SideServer } from './side-server.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'transactions' | 'connections' | 'seconds' | 'rounds' | 'seed';

export const lists: Bench<Option> = {
  about: 'list answers a second, against a bare node:http and pg server sending the same bodies',
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

/** Pages all over a list. */
function anyPage(path: string, rows: number, seed: number): () => string {
  const random = new Random(seed);
  return () => `${path}&offset=${random.below(rows)}`;
}

interface Server {
  readonly pid: number;
  /** without a path */
  readonly url: string;
}

interface Figures {
  readonly per_second: number[];
  readonly processor_us: number[];
}

interface Asked extends Figures {
  readonly who: string;
  readonly server: Server;
}

function noFigures(): Figures {
  return { per_second: [], processor_us: [] };
}

async function run({
  transactions,
  connections,
  seconds,
  rounds,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  let bare: SideServer | undefined;
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
    const keeping = await stack.spawnService('explorer-gateway', settings);
    const reading = await stack.spawnService('explorer-gateway', {
      ...settings,
      APP_ANSWERS_KEPT_MAX: '0',
    });
    for (const gateway of [keeping, reading]) await gateway.ready();
    bare = await startSideServer(
      stack,
      'the bare server',
      'bare-server.ts',
      [database.reader_url, hot],
      async (url) => (await fetch(url)).status === 404,
    );
    // only these servers and Postgres share the processors from here on
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
      await assertSameBody([bare, reading, keeping], path());
      const theirs: Asked = { who: 'bare server', server: bare, ...noFigures() };
      const read: Asked = { who: 'gateway, each read', server: reading, ...noFigures() };
      const kept: Asked = { who: 'gateway that keeps answers', server: keeping, ...noFigures() };
      const all = [theirs, read, kept];
      for (const { server } of all)
        await askInALoop({ url: server.url, path, connections, seconds: WARM_UP_SECONDS });
      for (let round = 0; round < rounds; round++)
        for (const each of all) await measure(each.server, path, connections, seconds, each);
      for (const { who, per_second, processor_us } of all)
        measured.push(
          { what: `${list}: ${who}`, unit: 'requests/s', rounds: per_second },
          { what: `${list}: ${who}, processor time`, unit: 'us a request', rounds: processor_us },
        );
      for (const ours of [read, kept])
        ratios.push(
          {
            what: `${list}: requests/s, ${ours.who} / bare`,
            ratio: median(ours.per_second) / median(theirs.per_second),
          },
          {
            what: `${list}: processor time, ${ours.who} / bare`,
            ratio: median(ours.processor_us) / median(theirs.processor_us),
            ...(ours === read ? { goal: '<= 1.5' } : {}),
          },
        );
      say(`${list}: done`);
    }
    const about = `${transactions} transactions in ${counts.blocks} blocks, ${connections} kept-alive connections, after ${WARM_UP_SECONDS} s of warm-up each; one gateway reads each page anew, one keeps 4,096 answers as by default; the requests from this process, on as few processors as there are`;
    return { bench: 'lists', about, measured, ratios };
  } finally {
    await bare?.stop();
    await stack.stop();
  }
}

/** Before any answer counts. */
async function assertSameBody(servers: readonly Server[], path: string): Promise<void> {
  const [first, ...others] = await Promise.all(
    servers.map(async ({ url }) => (await fetch(`${url}${path}`)).text()),
  );
  for (const other of others)
    if (other !== first) throw new Error(`the answers to ${path} differ:\n${first}\n${other}`);
}

async function measure(
  server: Server,
  path: () => string,
  connections: number,
  seconds: number,
  into: Figures,
): Promise<void> {
  const before = processorSeconds(server.pid);
  const { requests, seconds: took } = await askInALoop({
    url: server.url,
    path,
    connections,
    seconds,
  });
  into.per_second.push(requests / took);
  into.processor_us.push(((processorSeconds(server.pid) - before) / requests) * 1e6);
}

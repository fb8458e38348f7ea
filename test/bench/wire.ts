/**
 * A page of 100 transactions from the explorer in each content coding, as 304, and through nginx
 * with the reference configuration: bytes on the wire, and requests a second.
 */
import { openLog } from '../../services/runtime/process/log.ts';
import { openNginx, type Nginx } from '../support/nginx.ts';
import { Random } from '../support/random.ts';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle, vacuum } from './databases.ts';
import { fillTopic } from './fill-topic.ts';
import { load } from './load.ts';
import { loadByProjector } from './load-projection.ts';
import type { BenchReport, Measured } from './report.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'transactions' | 'connections' | 'seconds' | 'rounds' | 'seed';

export const wire: Bench<Option> = {
  about: 'bytes and requests a second of a page of 100: codings, 304, nginx with its cache',
  options: {
    transactions: { about: 'in the database', default: 100_000 },
    connections: { about: 'kept alive, each with one request in flight', default: 8 },
    seconds: { about: 'of a round of one way', default: 3 },
    rounds: { about: 'of each way, in turns', default: 3 },
    seed: { about: 'of the chain', default: 1 },
  },
  run,
};

const PAGE = '/api/v1/transactions?limit=100';

/** A way to ask for pages. */
interface Way {
  readonly what: string;
  readonly url: string;
  readonly path: () => string;
  readonly headers?: string;
  readonly status?: number;
}

interface Figures {
  readonly way: Way;
  readonly bytes: number[];
  readonly per_second: number[];
}

async function run({
  transactions,
  connections,
  seconds,
  rounds,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  let nginx: Nginx | undefined;
  try {
    const { end } = await fillTopic(stack.addresses, { transactions, seed }, log, say);
    const database = await emptyDatabase(stack);
    await loadByProjector(stack, database, end);
    await vacuum(stack, database);
    const gateway = await stack.spawnService('explorer-gateway', {
      APP_POSTGRES_READER_URL: database.reader_url,
      APP_RATE_PER_SECOND: '0',
      APP_LOG_LEVEL: 'warn',
    });
    await gateway.ready();
    const opened = await openNginx({ explorer: gateway.url, hub: gateway.url });
    if ('missing' in opened) say(opened.missing);
    else nginx = opened;
    for (const server of ['kafka', 'registry'] as const) await stack.servers[server].stop();
    await settle(stack);

    const random = new Random(seed);
    const ways = [
      ...waysOf('newest page', gateway.url, () => PAGE, await etagOf(gateway.url)),
      ...waysOf(
        'any page',
        gateway.url,
        () => `${PAGE}&offset=${random.below(transactions - 100)}`,
      ),
      ...(nginx === undefined
        ? []
        : waysOf('newest page, nginx', nginx.explorer_url, () => PAGE, await etagOf(gateway.url))),
    ];
    const figures = ways.map((way): Figures => ({ way, bytes: [], per_second: [] }));
    for (const { way } of figures) await load({ ...way, connections, seconds });
    for (let round = 0; round < rounds; round++) {
      for (const { way, bytes, per_second: perSecond } of figures) {
        const loaded = await load({ ...way, connections, seconds });
        bytes.push(loaded.bytes / loaded.requests);
        perSecond.push(loaded.requests / loaded.seconds);
      }
      say(`round ${round + 1}: done`);
    }
    const measured = figures.flatMap(({ way, bytes, per_second: perSecond }): Measured[] => [
      { what: way.what, unit: 'bytes a response', rounds: bytes },
      { what: way.what, unit: 'requests/s', rounds: perSecond },
    ]);
    const about = `${transactions} transactions, ${connections} kept-alive connections, the load from this process, on as few processors as there are`;
    return { bench: 'wire', about, measured, ratios: [] };
  } finally {
    await nginx?.stop();
    await stack.stop();
  }
}

async function etagOf(url: string): Promise<string> {
  const response = await fetch(url + PAGE);
  await response.arrayBuffer();
  return response.headers.get('etag') ?? '';
}

/** With the `etag` of the page also a request that names it. */
function waysOf(what: string, url: string, path: () => string, etag?: string): readonly Way[] {
  const coded = ['gzip', 'br', 'zstd'].map((coding) => ({
    what: `${what}, ${coding}`,
    url,
    path,
    headers: `accept-encoding: ${coding}\r\n`,
  }));
  const named = { url, path, headers: `if-none-match: ${etag}\r\n`, status: 304 };
  return [
    { what: `${what}, plain`, url, path },
    ...coded,
    ...(etag === undefined ? [] : [{ what: `${what}, 304`, ...named }]),
  ];
}

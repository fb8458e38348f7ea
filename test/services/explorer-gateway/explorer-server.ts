/**
 * The explorer's gateway in the test process, on a real port, with a node whose head can be set.
 * Every response is checked against the OpenAPI document.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { inject } from 'vitest';
import type { ConsoleConfig } from '../../../services/explorer-gateway/config.ts';
import { explorerApp } from '../../../services/explorer-gateway/service.ts';
import { indexedPosition } from '../../../projections/explorer/queries/chain.ts';
import { openHttp } from '../../../services/runtime/http/server.ts';
import { openLog } from '../../../services/runtime/process/log.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { openReader, type Reader } from '../../../services/runtime/postgres/pool.ts';
import { ReadVersion } from '../../../services/runtime/read-version.ts';
import { openNotificationSubscriber } from '../../../services/runtime/redis.ts';
import type { PlainBlock } from '../../projections/explorer/plain-block.ts';
import { fillExplorer } from '../../projections/explorer/seeded-rows.ts';
import { freshDatabase, type DatabaseUrls } from '../../support/database.ts';
import { takePort } from '../../support/free-ports.ts';
import { EXPLORER, type Answered } from '../../support/openapi.ts';
import { HANG_MS } from '../../support/limits.ts';

export interface ExplorerServerOptions extends ConsoleConfig {
  readonly postgres_reader_url: string;
  /** by default a node that knows its head alone */
  readonly node_url?: string;
  readonly kafka_brokers?: readonly string[];
  readonly treasury_public_reconciliation_url?: string;
  readonly statement_timeout_ms?: number;
  readonly connections_max?: number;
  /** what the routes read with, made of what reads from Postgres */
  readonly reader?: (postgres: Reader) => Reader;
  readonly exports_max?: number;
  readonly rate_per_second?: number;
  readonly rate_burst?: number;
  readonly trust_proxy_hops?: number;
  /** the folder of the built console */
  readonly console?: URL;
  /** ms of a clock */
  readonly now?: () => number;
  /**
   * with them responses are cached as in the service: until a notification or a new version in
   * Postgres
   */
  readonly notifications?: {
    readonly redis_url: string;
    /** when the gateway has heard it */
    readonly onNotification: (message: string) => void;
  };
}

export interface ExplorerServer {
  readonly url: string;
  /** of the node; undefined: it answers nothing useful */
  head: number | undefined;
  /** the log at level warn and above */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** how many statements it has asked Postgres, but for the read version, once a second */
  readonly statements: number;
  /** until `stop` */
  readonly metrics: Metrics;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answered>;
  ask(method: string, path: string, headers?: Readonly<Record<string, string>>): Promise<Answered>;
  /** stops answering; `start` serves again at the same address */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function openExplorer({
  now = () => performance.now(),
  notifications,
  console,
  reader: readerOf = (postgres) => postgres,
  ...options
}: ExplorerServerOptions): Promise<ExplorerServer> {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = openLog({
    service: 'explorer-gateway',
    level: 'warn',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const taken = await takePort();
  const explorer: { head: number | undefined; statements: number } = { head: 0, statements: 0 };
  const answerOfNode = (): string =>
    JSON.stringify({ head: { height: explorer.head }, finalized_height: 0 });
  const node = createServer((_request, response) => response.end(answerOfNode())).listen(
    taken.port,
    '127.0.0.1',
  );
  await once(node, 'listening');
  const pool = openReader(
    { statement_timeout_ms: HANG_MS, postgres_connect_ms: HANG_MS, connections_max: 4, ...options },
    'explorer-gateway',
    log,
  );
  const reader = readerOf({
    rows: (statement) => {
      explorer.statements++;
      return pool.rows(statement);
    },
  });
  const index =
    notifications && new ReadVersion({ reader: pool, position: indexedPosition(), now });
  const moved = (): void => index?.changed();
  const onNotification = (_channel: string, message: string): void => {
    moved();
    notifications?.onNotification(message);
  };
  const subscriber =
    notifications &&
    openNotificationSubscriber(
      notifications,
      'explorer-gateway',
      ['projection:explorer'],
      { onNotification, onSubscribed: moved },
      log,
    );
  const settings = {
    node_url: `http://127.0.0.1:${taken.port}`,
    kafka_brokers: undefined,
    treasury_public_reconciliation_url: undefined,
    ready_lag_blocks_max: 20,
    answers_kept_max: 4_096,
    exports_max: 4,
    rate_per_second: 0,
    rate_burst: 1,
    trust_proxy_hops: 0,
  };
  const metrics = new Metrics('test');
  const serve = (port: number, counted: Metrics): ReturnType<typeof openHttp> =>
    openHttp(
      { http_host: '127.0.0.1', http_port: port },
      {
        log,
        metrics: counted,
        ...explorerApp({ ...settings, ...options }, reader, log, now, index, undefined, console),
      },
    );
  let http = await serve(0, metrics);
  const { url } = http;
  const ask: ExplorerServer['ask'] = async (method, path, headers = {}) => {
    // a connection that is kept may be closed, unseen, while a test makes its values
    const response = await fetch(url + path, {
      method,
      headers: { connection: 'close', ...headers },
    });
    const answer = {
      status: response.status,
      text: await response.text(),
      headers: response.headers,
    };
    EXPLORER.checkAnswer(method, path, answer);
    return answer;
  };
  return Object.assign(explorer, {
    url,
    lines,
    metrics,
    ask,
    get: (path: string, headers?: Readonly<Record<string, string>>) => ask('GET', path, headers),
    stop: () => http.drain(),
    start: async () => {
      http = await serve(Number(new URL(url).port), new Metrics('test'));
    },
    close: async () => {
      await http.drain();
      await subscriber?.close();
      await pool.close();
      node.close();
      node.closeAllConnections();
      taken.release();
    },
  });
}

export interface IndexedExplorer extends ExplorerServer {
  /** its own database */
  readonly urls: DatabaseUrls;
}

/** The explorer of an index that has these blocks. */
export async function openIndexed(
  blocks: readonly PlainBlock[],
  options: Partial<ExplorerServerOptions> = {},
): Promise<IndexedExplorer> {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  const explorer = await openExplorer({ postgres_reader_url: urls.reader_url, ...options });
  return Object.assign(explorer, { urls });
}

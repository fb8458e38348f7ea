/**
 * `ops console` on a ledger of its own: operators alice and bob, deposits that wait, dust, a record
 * in quarantine, a rebuild under way, one service, and a Prometheus with an alert.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { Client } from 'pg';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import type { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { SCHEMA_IDS, TREASURY_LEDGER } from '../../../../schemas/topics.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { CONSOLE_SETTINGS, serveOperations } from '../../../../services/ops/console/console.ts';
import { LedgerLog } from '../../../../services/ops/deposit/ledger-log.ts';
import { builtPage, pageRoutes } from '../../../../services/runtime/http/built-page.ts';
import { ensureTopics } from '../../../../services/runtime/kafka/topics.ts';
import { readConfig } from '../../../../services/runtime/process/config.ts';
import { Closing } from '../../../../services/runtime/process/main.ts';
import { toEntries } from '../../../../services/treasury/ledger/ledger-writer.ts';
import type { Addresses } from '../../../../infra/services/services.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { openCodec } from '../../../support/codec.ts';
import { freshDatabase } from '../../../support/database.ts';
import { appendAll, silentLog, testKafka } from '../../../support/kafka.ts';
import { MintLedger, USD } from '../../../support/mint-ledger.ts';
import { OPERATIONS } from '../../../support/openapi.ts';
import { alice, bob, operatorsSet } from '../../../support/operators.ts';
import { ScriptedNode } from '../../../support/scripted-node.ts';
import { until } from '../../../support/until.ts';

export interface OperationsServer {
  readonly url: string;
  /** ids of deposits that wait */
  readonly held: readonly [string, string, string];
  /** ids of deposits of 1, 2 and 3 micro-USDT, which wait too */
  readonly dust: readonly string[];
  /** the records of the ledger at its beginning */
  readonly records: number;
  /** the ledger as it is in the log */
  ledger(): Promise<Ledger>;
  append(event: TreasuryEvent): Promise<void>;
  /** the service that it shows does not answer any more */
  stopService(): void;
  close(): Promise<void>;
}

const ALERT = {
  labels: { alertname: 'ReserveMismatch', severity: 'page', service: 'treasury' },
  annotations: { summary: 'the reserve does not fit', action: 'look at ops reserve runs' },
  state: 'firing',
  activeAt: '2026-11-21T12:00:00Z',
};

/** `page`: the document of the page; without it the interface alone is served. */
export async function openOperations(stack: Addresses, page?: URL): Promise<OperationsServer> {
  const made = new MintLedger();
  made.setPolicy({ first_fee: 0n, later_fee: 0n });
  made.write(operatorsSet(alice, bob));
  const held = [
    made.deposit(USD / 2n),
    made.deposit(USD / 4n),
    made.deposit(1_500n * USD),
  ] as const;
  const dust = [1n, 2n, 3n].map((amount) => made.deposit(amount));
  const kafka_prefix = `${randomUUID()}.`;
  const kafka = testKafka(stack, undefined, { kafka_prefix });
  const codec = await openCodec(stack.registry_url, [TREASURY_LEDGER]);
  await ensureTopics(kafka, [TREASURY_LEDGER, SCHEMA_IDS]);
  const append = (events: readonly TreasuryEvent[]): Promise<void> =>
    appendAll(kafka, TREASURY_LEDGER.name, toEntries(codec, events));
  await append(made.log);

  const database = await freshDatabase(stack);
  const pool = await openTables(database.writer_url, deposits);
  await applyStretch(pool, deposits, {
    partition: 0,
    from: 0,
    events: made.log,
    topic: TREASURY_LEDGER.name,
  });
  await pool.end();
  const writer = new Client({ connectionString: database.writer_url });
  await writer.connect();
  await writer.query(`
    INSERT INTO projector.quarantine (projection, topic, partition, record_offset, fingerprint, error)
      VALUES ('explorer', 'chain.blocks', 0, 41, '\\x00', 'a value of no schema');
    INSERT INTO projector.projections (projection, version, beside) VALUES ('deposits_next', 9, 'deposits');
    INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, digest)
      VALUES ('deposits_next', 9, 'treasury.ledger', 0, 'c', 4, '')`);
  await writer.end();

  const service = createServer(({ url = '' }, response) => {
    if (url === '/api/v1/alerts')
      return response.end(JSON.stringify({ status: 'success', data: { alerts: [ALERT] } }));
    if (url === '/metrics') return response.end('lease_held{service="treasury"} 1\n');
    const ready = {
      status: 'ready',
      phase: 'minting',
      waits_for: null,
      eta_s: null,
      message: null,
    };
    return response.end(JSON.stringify(ready));
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const address = service.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const there = `http://127.0.0.1:${port}`;
  const node = new ScriptedNode();
  node.grow(7);
  node.finalized = 4;

  const folder = mkdtempSync(join(tmpdir(), 'clt-ops-console-'));
  const stackFile = join(folder, 'stack.json');
  writeFileSync(stackFile, JSON.stringify({ services: { treasury: { url: there } } }));
  const stopping = new AbortController();
  const closing = new Closing();
  const config = readConfig(
    {
      APP_KAFKA_BROKERS: stack.kafka_brokers,
      APP_KAFKA_PREFIX: kafka_prefix,
      APP_REGISTRY_URL: stack.registry_url,
      APP_POSTGRES_READER_URL: database.reader_url,
      APP_NODE_URL: await node.listen(),
      APP_PROMETHEUS_URL: there,
    },
    CONSOLE_SETTINGS,
  );
  const where = { stack: stackFile, http_host: '127.0.0.1', http_port: 0 };
  const built = page && builtPage(page);
  const routes = built === undefined ? [] : pageRoutes(built, ['/']);
  const { url } = await serveOperations(config, where, routes, stopping.signal, closing);
  const { address: operator } = alice;
  await until(
    async () => (await ask(url, 'challenges', undefined, { address: operator })).status,
    'the ledger is read',
    (seen) => seen === 200,
  );
  return {
    url,
    held,
    dust,
    records: made.log.length,
    async ledger() {
      const log = new LedgerLog({ kafka, codec, log: silentLog() });
      await log.catchUp();
      return log.ledger;
    },
    append: (event) => append([event]),
    stopService() {
      service.close();
      service.closeAllConnections();
    },
    async close() {
      stopping.abort();
      await closing.close(
        () => undefined,
        (_name, error) => {
          throw error;
        },
      );
      service.close();
      await node.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Asks with a token; posts where there is a body. */
export async function ask(
  url: string,
  path: string,
  token?: string,
  body?: object,
): Promise<Answered> {
  const method = body === undefined ? 'GET' : 'POST';
  const response = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.text();
  OPERATIONS.checkAnswer(method, `/api/v1/${path}`, { status, text, headers });
  return { status, body: JSON.parse(text) };
}

export async function signedIn(url: string, wallet: Wallet): Promise<Answered> {
  const { address } = wallet;
  const { body } = await ask(url, 'challenges', undefined, { address });
  const text = String(body['text']);
  const signature = await wallet.signMessage(text);
  return ask(url, 'sessions', undefined, { text, signature });
}

/** A token of this operator. */
export async function tokenOf(url: string, wallet: Wallet): Promise<string> {
  return String((await signedIn(url, wallet)).body['token']);
}

import type { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withClient } from '../../../../infra/postgres/databases.ts';
import { applyBatch } from '../../../../services/projector/engine/apply-batch.ts';
import {
  dropTables,
  nextName,
  previousName,
  switchTables,
} from '../../../../services/projector/rebuild/switch.ts';
import { lockKeyOf } from '../../../../services/projector/tables/live-tables.ts';
import { PROJECTIONS } from '../../../../services/projector/registry.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { endReaders, guardWriters } from '../../../../services/projector/tables/readers.ts';
import {
  batchOf,
  CLUSTER,
  openTables,
  ownExplorer,
  type Tables,
} from '../../../services/projector/engine/projected.ts';
import { chainEvents } from '../../../support/chain.ts';
import { freshDatabase, rowsOf, type DatabaseUrls } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { until } from '../../../support/until.ts';
import {
  codeOf,
  openHostile,
  ROLES,
  stateOf,
  TOO_MANY,
  urlOf,
  useOwnPostgres,
} from '../../../servers/infra/postgres/hostile.ts';

const stackOf = useOwnPostgres();

const EVENTS = [...chainEvents({ seed: 7, blocks: 12, reorg_probability: 0 })];

/** Everything that a projector, a rebuild and the start of another version do to tables. */
class Projector {
  readonly urls: DatabaseUrls;
  readonly tables: Tables;
  #applied = 0;

  private constructor(urls: DatabaseUrls, tables: Tables) {
    this.urls = urls;
    this.tables = tables;
  }

  static async open(urls: DatabaseUrls): Promise<Projector> {
    for (const projection of PROJECTIONS) await prepareDatabase(urls.writer_url, projection);
    const tables = await openTables(urls.writer_url, ownExplorer());
    onTestFinished(() => tables.pool.end());
    const projector = new Projector(urls, tables);
    for (const name of [nextName, previousName]) await projector.#stage(name);
    await projector.#migrate();
    return projector;
  }

  /** Tables of each kind are there for a reader to lock. */
  async #stage(name: (projection: string) => string): Promise<void> {
    const { projection } = this.tables;
    const staged = { ...projection, name: name(projection.name) };
    await prepareDatabase(this.urls.writer_url, staged, {
      indexed: true,
      beside: projection.name,
    });
  }

  async #commit(): Promise<void> {
    const { pool, projection } = this.tables;
    const from = BigInt(this.#applied);
    const batch = batchOf(EVENTS.slice(this.#applied, ++this.#applied), from, projection);
    const applied = await applyBatch({ pool, projection, cluster_id: CLUSTER }, batch);
    expect(applied).toMatchObject({ outcome: 'applied', next_offset: from + 1n });
  }

  /** The views are made anew, and the earlier ones dropped, as by a version with other views. */
  async #migrate(): Promise<void> {
    await this.tables.pool.query(`COMMENT ON SCHEMA analytics IS 'of another version'`);
    await prepareDatabase(this.urls.writer_url, this.tables.projection);
  }

  /** A table that every projector writes is altered, and its commits queue behind that. */
  async #alter(): Promise<void> {
    const sql = 'ALTER TABLE projector.checkpoints ALTER COLUMN digest SET STATISTICS 1';
    const altered = this.#guarded((session) =>
      session.query(`BEGIN; LOCK TABLE projector.checkpoints; ${sql}; COMMIT`),
    );
    await Promise.all([altered, this.#commit()]);
  }

  async #exchange(): Promise<void> {
    const { name } = this.tables.projection;
    const switched = await this.#guarded(async (session) => {
      await dropTables(session, previousName(name));
      return await switchTables({
        session,
        projection: name,
        staged: nextName(name),
        keep: previousName(name),
        of_another_log: true,
        catchUp: () => Promise.resolve(),
      });
    });
    expect(switched).toBe(true);
    this.#applied = 0;
  }

  async #guarded<Result>(work: (session: Client) => Promise<Result>): Promise<Result> {
    const { writer_url: writerUrl } = this.urls;
    const letGo = guardWriters({ postgres_url: writerUrl, log: silentLog() });
    try {
      return await withClient(writerUrl, work);
    } finally {
      letGo();
    }
  }

  /**
   * Resolves with the time of each step, which nothing is judged by. Before each step somebody
   * attacks, since an earlier step may have ended the session of the attack before.
   */
  async work(attack: () => Promise<void> = () => Promise.resolve()): Promise<string> {
    const times: string[] = [];
    const timed = async (what: string, step: () => Promise<void>): Promise<void> => {
      await attack();
      const begun = performance.now();
      await step();
      times.push(`${what} ${Math.round(performance.now() - begun)} ms`);
    };
    await timed('batch', () => this.#commit());
    await timed('views anew', () => this.#migrate());
    await timed('batch behind ALTER TABLE', () => this.#alter());
    await timed('exchange', () => this.#exchange());
    await timed('batch', () => this.#commit());
    return times.join(', ');
  }
}

/** Every table and view that the role may read. */
const READABLE = `SELECT string_agg(format('%I.%I', nspname, relname), ', ') AS all
  FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
 WHERE relkind IN ('r', 'v') AND nspname NOT IN ('information_schema', 'pg_toast')
   AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(pg_class.oid, 'SELECT')
   AND (relkind = 'r' OR nspname <> 'pg_catalog')`;

async function readable(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ all: string }>(READABLE);
  return rows[0]?.all.split(', ') ?? [];
}

const ENDLESS = 'WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t';

/** A session does each of these, and goes on for ever. */
const GOES_ON: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  'nothing at all': () => Promise.resolve(),
  async 'LOCK TABLE of every table and view, and then nothing'(client) {
    const all = await readable(client);
    await client.query(`BEGIN; LOCK TABLE ${all.join(', ')} IN ACCESS SHARE MODE`);
  },
  async 'a cursor in every table, and then nothing'(client) {
    const all = await readable(client);
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    for (const [at, table] of all.entries())
      await client.query(`DECLARE c${at} CURSOR FOR SELECT * FROM ${table}; FETCH 1 FROM c${at}`);
  },
  async 'a serializable transaction that may write, with a thousand savepoints'(client) {
    const all = await readable(client);
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE');
    for (const table of all) await client.query(`SELECT count(*) FROM ${table}`);
    await client.query(Array.from({ length: 1_000 }, (_, at) => `SAVEPOINT s${at}`).join('; '));
  },
  async 'an endless statement that has read every table and view'(client) {
    const read = (await readable(client))
      .map((name) => `(SELECT count(*) FROM ${name})`)
      .join(' + ');
    client.query(`BEGIN; SELECT ${read}; ${ENDLESS}`).catch(() => undefined);
  },
  async 'a COPY to a client that does not read'(client) {
    const all = await readable(client);
    await client.query(`BEGIN; LOCK TABLE ${all.join(', ')} IN ACCESS SHARE MODE`);
    client
      .query(`COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000000)) TO STDOUT`)
      .catch(() => undefined);
    const { connection } = Object(client);
    connection.stream.pause();
  },
  async 'DROP OWNED of its own rights, and then nothing'(client) {
    // one such session waits for another
    await client.query('SET lock_timeout = 1');
    await stateOf(client, 'BEGIN; DROP OWNED BY CURRENT_USER');
  },
  async 'a thousand prepared statements and LISTEN in an open transaction'(client) {
    for (let at = 0; at < 1_000; at++)
      await client.query(`PREPARE p${at} AS SELECT count(*) FROM projector.checkpoints`);
    await client.query('LISTEN all_of_it; BEGIN; SELECT FROM projector.checkpoints');
  },
};

describe.each(ROLES)('$name', (role) => {
  test('holds up no writer by the locks of projectors', async () => {
    const urls = await freshDatabase(stackOf());
    const projector = await Projector.open(urls);
    const client = await openHostile(urlOf(urls, role));
    const { name } = projector.tables.projection;
    for (const purpose of [7_301_977, 7_301_978, 7_301_979, 7_301_980])
      await stateOf(client, `SELECT pg_advisory_lock(${purpose}, ${lockKeyOf(name)})`);
    await stateOf(client, 'SELECT pg_advisory_lock(7301977)');
    await projector.work();
  });

  test.for(Object.entries(GOES_ON))(
    'holds up no writer by %s',
    async ([, doForEver], { annotate }) => {
      const urls = await freshDatabase(stackOf());
      const projector = await Projector.open(urls);
      const attack = async (): Promise<void> =>
        await doForEver(await openHostile(urlOf(urls, role)));
      await annotate(await projector.work(attack));
    },
  );

  test('holds up no writer by all its sessions, each with every lock that it may have', async ({
    annotate,
  }) => {
    const urls = await freshDatabase(stackOf());
    const projector = await Projector.open(urls);
    const first = await openHostile(urlOf(urls, role));
    // to plan a statement takes the locks of the indexes too
    const plans = (await readable(first)).map((table) => `EXPLAIN TABLE ${table}`).join('; ');
    const openAnother = async (): Promise<unknown> => {
      const opened = openHostile(urlOf(urls, role));
      const code = await codeOf(opened);
      if (code === undefined) await (await opened).query(`BEGIN; ${plans}`);
      return code;
    };
    let codes: readonly unknown[] = [];
    while (!codes.includes(TOO_MANY))
      codes = await Promise.all(Array.from({ length: 8 }, openAnother));
    await annotate(await projector.work());
  });

  test('fills the queue of notifications, and hits nobody', async () => {
    const urls = await freshDatabase(stackOf());
    const projector = await Projector.open(urls);
    const listener = await openHostile(urlOf(urls, role));
    await listener.query('LISTEN all_of_it');
    await listener.query('BEGIN; SELECT 1');
    const client = await openHostile(urlOf(urls, role));
    const storm = Array.from({ length: 50 }, (_, at) => `NOTIFY a${at}, '${'x'.repeat(7_900)}'`);
    let state: unknown;
    while (state === undefined) state = await stateOf(client, storm.join('; '));
    // program_limit_exceeded
    expect(state).toBe('54000');
    await projector.work();
  });

  test('ends when its transaction is too old, whatever it has set', async () => {
    const urls = await freshDatabase(stackOf());
    const projector = await Projector.open(urls);
    const idle = await openHostile(urlOf(urls, role));
    await idle.query('BEGIN; SELECT 1');
    const busy = await openHostile(urlOf(urls, role));
    const ended = busy.query(ENDLESS);
    ended.catch(() => undefined);
    await endReaders(projector.tables.pool, silentLog());
    const transactions = `SELECT count(*)::int AS open FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'hostile' AND xact_start IS NOT NULL`;
    const open = async (): Promise<unknown> =>
      (await rowsOf(urls.writer_url, transactions))[0]?.['open'];
    await until(open, 'both transactions', (seen) => seen === 2);
    await endReaders(projector.tables.pool, silentLog(), '0s');
    await expect(ended).rejects.toMatchObject({ code: '57P01' });
    await until(open, 'the end of both', (seen) => seen === 0);
  });
});

test('a host that is away does not keep the sessions of the others', async () => {
  const urls = await freshDatabase(stackOf());
  await rowsOf(
    urls.writer_url,
    'CREATE TABLE public.wanted (); GRANT SELECT ON public.wanted TO clt_reader',
  );
  const client = await openHostile(urls.reader_url);
  await client.query('BEGIN; SELECT FROM public.wanted');
  const postgres_url = urls.writer_url.replace('@', '@127.0.0.1:1,');
  const letGo = guardWriters({ postgres_url, log: silentLog() });
  onTestFinished(letGo);
  await rowsOf(urls.writer_url, 'DROP TABLE public.wanted');
});

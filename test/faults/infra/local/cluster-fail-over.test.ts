/** The fail-over of Postgres by the commands of docs/operations/cluster.md, on a running stack. */
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ABOUT, Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import {
  openReader,
  openWriter,
  type ReaderPool,
} from '../../../../services/runtime/postgres/pool.ts';
import { rowsOf } from '../../../support/database.ts';
import {
  startCommandCluster,
  type CommandCluster,
  type PostgresName,
} from '../../../support/command-cluster.ts';
import { silentLog } from '../../../support/kafka.ts';
import { HANG_MS } from '../../../support/limits.ts';

let cluster: CommandCluster;
beforeAll(async () => void (cluster = await startCommandCluster(['--servers-only'])));
afterAll(async () => await cluster.stop());

async function follows(name: PostgresName): Promise<unknown> {
  const asked = rowsOf(cluster.superuserUrl(name), 'SELECT pg_is_in_recovery() AS follows');
  return (await asked.catch(() => [])).at(0)?.['follows'] ?? 'away';
}

/** Asks one after the other, until the test ends, on which timeline a connection is. */
class Asking {
  newest = '';
  /** older primaries that were used after a newer one */
  readonly wrong: string[] = [];
  readonly #ask: () => Promise<string | null | undefined>;
  #isOver = false;

  constructor(ask: () => Promise<string | null | undefined>) {
    this.#ask = ask;
    const over = this.#go();
    onTestFinished(async () => {
      this.#isOver = true;
      await over;
    });
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      const known = this.newest;
      const timeline = (await this.#ask().catch(() => undefined)) ?? '';
      if (timeline !== '' && timeline < known) this.wrong.push(`${timeline} after ${known}`);
      if (timeline > this.newest) this.newest = timeline;
    }
  }
}

function pools(): { readonly writer: Pool; readonly reader: ReaderPool } {
  const { postgres_url, postgres_reader_url } = cluster.file();
  const settings = { postgres_url, application_name: 'test', schema: 'public' };
  const writer = openWriter(settings, silentLog());
  const reader = openReader(
    { postgres_reader_url, statement_timeout_ms: HANG_MS, connections_max: 2 },
    'test',
    silentLog(),
  );
  onTestFinished(async () => void (await Promise.all([writer.end(), reader.close()])));
  return { writer, reader };
}

function asking({ writer, reader }: ReturnType<typeof pools>): readonly [Asking, Asking] {
  const text = `SELECT ${ABOUT}`;
  return [
    new Asking(async () => {
      const { rows } = await writer.query<{ timeline: string | null }>(text);
      return rows[0]?.timeline;
    }),
    new Asking(async () => (await reader.rows({ name: '', text, values: [] }))[0]?.[1]),
  ];
}

test('a primary that was killed stays down until its replica is promoted, and follows it then', async () => {
  const [writes, reads] = asking(pools());
  await expect.poll(() => writes.newest).toBe('00000001');
  await cluster.kill('postgres-1');
  await cluster.run.prints(
    'postgres-1 was ended by SIGKILL and stays down while postgres-2 may be',
  );
  expect([await follows('postgres-1'), await follows('postgres-2')]).toEqual(['away', true]);
  await cluster.promote('postgres-2');
  await expect.poll(() => writes.newest).toBe('00000002');
  await expect.poll(() => reads.newest).toBe('00000002');
  await cluster.run.prints('postgres-1 is ready again');
  expect([await follows('postgres-1'), await follows('postgres-2')]).toEqual([true, false]);
  expect([...writes.wrong, ...reads.wrong]).toEqual([]);
});

test('a primary that was started before its replica was promoted is left by every connection', async () => {
  const [writes, reads] = asking(pools());
  await cluster.kill('postgres-2');
  await cluster.run.prints('postgres-2 was ended by SIGKILL and stays down');
  await cluster.startAgain();
  await expect.poll(() => follows('postgres-2')).toBe(false);
  await expect.poll(() => writes.newest).toBe('00000002');
  await cluster.promote('postgres-1');
  await expect.poll(() => writes.newest).toBe('00000003');
  await expect.poll(() => reads.newest).toBe('00000003');
  expect(Hosts.of(cluster.file().postgres_url).primaries).toBe(2);
  await cluster.kill('postgres-2');
  await expect.poll(() => follows('postgres-2')).toBe(true);
  expect([...writes.wrong, ...reads.wrong]).toEqual([]);
});

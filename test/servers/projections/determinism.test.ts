/** The bytes in the tables do not depend on batches, interleaving, time zone, locale or session. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, inject, test } from 'vitest';
import { createDatabase, postgresUrl } from '../../../infra/postgres/databases.ts';
import { superuser } from '../../../infra/postgres/settings.ts';
import { PROJECTIONS } from '../../../services/projector/registry.ts';
import { freshDatabase } from '../../support/database.ts';
import { ask, inTurn, tablesOf } from '../../projections/readings.ts';

const SIZES = [1, 7, 5_000];

/** Session settings that must not affect any row. */
const ODD_SETTINGS = {
  TimeZone: 'Asia/Kathmandu',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
} as const;

let plainUrl: string;
let oddUrl: string;

/** Tables of the same logs under another time zone and locale, by projection and batch size. */
let elsewhere: Promise<Elsewhere>;

beforeAll(async () => {
  const stack = inject('stack');
  const { host } = new URL(stack.postgres_url);
  const name = `t_${randomBytes(6).toString('hex')}`;
  await ask(postgresUrl(superuser, host, 'postgres'), [
    `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv-SE-u-kf-upper'`,
    ...Object.entries(ODD_SETTINGS).map(
      ([setting, value]) => `ALTER DATABASE ${name} SET ${setting} = '${value}'`,
    ),
  ]);
  ({ writer_url: oddUrl } = await createDatabase(host, name));
  ({ writer_url: plainUrl } = await freshDatabase(stack));
  const [told] = await ask(oddUrl, [
    "SELECT 'z' < 'ö' AND 'a' < 'B' AS sorted, current_setting('DateStyle') AS style",
  ]);
  expect(told).toEqual({ sorted: true, style: 'German, DMY' });
  elsewhere = readElsewhere(oddUrl);
  elsewhere.catch(() => undefined);
});

interface Elsewhere {
  readonly locale: string;
  readonly time_zone: string;
  readonly found: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function readElsewhere(url: string): Promise<Elsewhere> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'determinism.fixture.ts'), url, ...SIZES.map(String)],
    {
      env: {
        PATH: process.env['PATH'],
        TZ: 'Pacific/Chatham',
        LC_ALL: 'tr_TR.UTF-8',
        LANG: 'tr_TR.UTF-8',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code).toBe(0);
  return JSON.parse(printed);
}

test.each(PROJECTIONS.map((projection) => [projection.name, projection] as const))(
  '%s: one log gives one digest of each table: here all at once, and under another time zone, locale and session in batches of 1, 7 and 5,000',
  async (name, projection) => {
    const here = await tablesOf(plainUrl, name, inTurn(Math.max(...SIZES)));
    const { found, ...place } = await elsewhere;
    expect(place).toEqual({ locale: 'tr-TR', time_zone: 'Pacific/Chatham' });
    expect(found[name]).toEqual(Object.fromEntries(SIZES.map((size) => [size, here])));
    expect(Object.keys(here).length).toBeGreaterThanOrEqual(projection.tables.length);
    expect(Object.entries(here).filter(([, digest]) => digest.startsWith('0 '))).toEqual([]);
  },
);

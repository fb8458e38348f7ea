/** The explorer with exports, with an eye and a hand on every statement that it asks. */
import { connect, type Socket } from 'node:net';
import { Client } from 'pg';
import { expect, inject, onTestFinished } from 'vitest';
import type { Reader } from '../../../../services/runtime/postgres/pool.ts';
import { fillExplorer } from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../../projections/explorer/plain-block.ts';
import { rowsOf } from '../../../projections/explorer/table-rows.ts';
import {
  openExplorer,
  type ExplorerServer,
  type ExplorerServerOptions,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { copiedDatabase, freshDatabase, type DatabaseUrls } from '../../../support/database.ts';

export interface ExportServer extends ExplorerServer {
  /** the names of the statements asked */
  readonly asked: readonly string[];
  /** of one statement */
  rows_max: number;
  /** runs before each statement; `piece` counts those that read rows from 1, others have 0 */
  meddle: ((piece: number) => Promise<void>) | undefined;
  /** asks for an export on a connection of its own that does not read */
  readonly paused: (path: string) => Socket;
}

const PIECE = /^explorer_export_(transactions|activity)(?!_ordinals)/;

/** Closed when the test has ended. */
export async function openExports(options: ExplorerServerOptions): Promise<ExportServer> {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  let pieces = 0;
  const observed = (postgres: Reader): Reader => ({
    rows: async (statement) => {
      asked.push(statement.name);
      await server.meddle?.(PIECE.test(statement.name) ? ++pieces : 0);
      const rows = await postgres.rows(statement);
      server.rows_max = Math.max(server.rows_max, rows.length);
      return rows;
    },
  });
  const explorer = await openExplorer({ ...options, reader: observed });
  const server: ExportServer = Object.assign(explorer, {
    asked,
    rows_max: 0,
    meddle: undefined,
    paused: (path: string) => {
      const { hostname, port, host } = new URL(explorer.url);
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      sockets.push(socket);
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
      return socket;
    },
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await explorer.close();
  });
  return server;
}

/** Filled once. */
const originals = new Map<readonly PlainBlock[], Promise<DatabaseUrls>>();

/** A database that holds these blocks; nobody may change it. */
export function filledOnce(blocks: readonly PlainBlock[]): Promise<DatabaseUrls> {
  const fill = async (): Promise<DatabaseUrls> => {
    const urls = await freshDatabase(inject('stack'));
    await fillExplorer(urls.writer_url, blocks);
    return urls;
  };
  return originals.getOrInsertComputed(blocks, () =>
    fill().catch((error: unknown) => {
      originals.delete(blocks);
      throw error;
    }),
  );
}

/** A database of its own that holds these blocks. */
export async function filled(blocks: readonly PlainBlock[]): Promise<DatabaseUrls> {
  return await copiedDatabase(inject('stack'), await filledOnce(blocks));
}

/** Waits until no further statement was asked for a while; how many there were. */
export async function standstill({ asked }: ExportServer): Promise<number> {
  let seen = -1;
  const stands = (): boolean => {
    const stood = seen === asked.length && seen > 1;
    seen = asked.length;
    return stood;
  };
  await expect.poll(stands, { interval: 400 }).toBe(true);
  return seen;
}

/** As NDJSON. */
export function linesOf(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('');
}

/** The rows that a block brings, by the column that tells them; all others are replaced. */
const OF_BLOCKS: Readonly<Record<string, 'height' | 'block_height' | 'seq'>> = {
  blocks: 'height',
  transactions: 'block_height',
  account_transactions: 'seq',
  activity: 'block_height',
};

/**
 * Replaces the chain in one transaction, with ordinals as after a reorganisation or growth. The
 * rows of the blocks that both chains begin with stay.
 */
export async function becomes(writerUrl: string, blocks: readonly PlainBlock[]): Promise<void> {
  const client = new Client({ connectionString: writerUrl, options: '-c search_path=explorer' });
  await client.connect();
  try {
    await client.query('BEGIN');
    const { rows: before } = await client.query<{ readonly hash: Buffer }>(
      'SELECT hash FROM blocks ORDER BY height',
    );
    const differs = blocks.findIndex(({ hash }, at) => before[at]?.hash.equals(hash) !== true);
    const from = differs === -1 ? blocks.length : differs;
    const kept = blocks.slice(0, from);
    const first = {
      height: from,
      block_height: from,
      seq: kept.reduce((sum, { transactions }) => sum + transactions.length, 0),
    };
    for (const [table, all] of Object.entries(rowsOf(blocks))) {
      const column = OF_BLOCKS[table];
      const rows =
        column === undefined ? all : all.filter((row) => Number(row[column]) >= first[column]);
      await client.query(
        column === undefined
          ? `DELETE FROM ${table}`
          : `DELETE FROM ${table} WHERE ${column} >= ${first[column]}`,
      );
      await client.query(
        `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
        [JSON.stringify(rows)],
      );
    }
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

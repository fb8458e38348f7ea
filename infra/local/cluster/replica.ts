/**
 * Which of two Postgres servers on this machine follows the other. Each start decides it by their
 * files: a server without data, or with those of an earlier timeline than the other has since it
 * was promoted, becomes a replica with a copy of the other's data. So does a replica that was away
 * until the primary had removed log that it needs. Sources: PostgreSQL documentation, "Making a
 * Base Backup Using the Low Level API"; `pg_control.h`; `xlog.c`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { REPLICATOR } from '../../cluster/principals.ts';
import { slotOf } from '../../cluster/postgres.ts';
import { withClient } from '../../postgres/databases.ts';
import { codeOf, StackFault } from '../process/run-program.ts';

const PATIENCE_MS = 120_000;
const POLL_MS = 100;

/** Position of `checkPointCopy.ThisTimeLineID` in global/pg_control. */
const TIMELINE_AT = 48;
const CONTROL = join('global', 'pg_control');
const FOLLOWS = 'standby.signal';

/** The server of the pair that this one may have to follow. */
export interface Peer {
  readonly name: string;
  /** The data folder of the peer, whether it exists or not. */
  readonly data: string;
  /** For the superuser. */
  readonly url: string;
}

/** The copy of `PostgresPlace` for a server of this name. The first of a pair begins the data. */
export function copyOf(name: string, isFirst: boolean, peer: Peer, replicator_password: string) {
  return async (data: string, half: string, signal: AbortSignal): Promise<boolean> => {
    const hasData = existsSync(data);
    if (!hasData && isFirst && !existsSync(peer.data)) return false;
    const isReplica = hasData && existsSync(join(data, FOLLOWS));
    if (isReplica ? !(await isLost(peer, name)) : hasData && timeline(data) >= timeline(peer.data))
      return false;
    await whilePrimaryIsAway(peer, signal);
    await withClient(peer.url, (client) => copyFrom(client, name, half, replicator_password));
    return true;
  };
}

/** Whether the peer, a primary that answers, has no log for this replica any more. */
async function isLost(peer: Peer, name: string): Promise<boolean> {
  const sql = `SELECT pg_is_in_recovery() OR EXISTS
    (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND wal_status <> 'lost') AS has`;
  return await withClient(peer.url, (client) => client.query(sql, [slotOf(name)])).then(
    ({ rows }) => rows[0]?.has === false,
    () => false,
  );
}

/** A peer that has not answered for so long is away. */
const AWAY_MS = 10_000;

/**
 * The `mayRestart` of a server: a primary that has ended stays down as long as its replica may be
 * promoted, since both would be primaries then. `data`: its folder.
 */
export function holdOf(name: string, data: string, peer: Peer) {
  return async (signal: AbortSignal, say: (why: string) => void): Promise<void> => {
    let answered_at = performance.now();
    let isTold = false;
    while (!existsSync(join(data, FOLLOWS)) && timeline(data) >= timeline(peer.data)) {
      const answers = await withClient(peer.url, (client) => client.query('SELECT'), AWAY_MS).then(
        () => true,
        () => false,
      );
      if (answers) answered_at = performance.now();
      if (signal.aborted || performance.now() - answered_at > AWAY_MS) return;
      if (answers && !isTold)
        say(
          `${peer.name} may be promoted: SELECT pg_promote() there makes ${peer.name} the primary, and ${name} ` +
            `its replica; npx ops start ${name} starts it as the primary that it was`,
        );
      isTold ||= answers;
      await pause(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  };
}

/**
 * The number of promotions that a data folder has seen, from 1; 0: there is none. A promotion
 * writes its history file at once, and the control file at its first checkpoint, later.
 */
export function timeline(data: string): number {
  const file = join(data, CONTROL);
  if (!existsSync(file)) return 0;
  const promotions = readdirSync(join(data, 'pg_wal')).flatMap((name) => {
    const [, number] = /^([0-9A-F]{8})\.history$/.exec(name) ?? [];
    return number === undefined ? [] : [parseInt(number, 16)];
  });
  return Math.max(readFileSync(file).readUInt32LE(TIMELINE_AT), ...promotions);
}

async function whilePrimaryIsAway(peer: Peer, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const reason = await withClient(peer.url, (client) =>
      client.query<{ replica: boolean }>('SELECT pg_is_in_recovery() replica'),
    ).then(
      ({ rows }) => (rows[0]?.replica === true ? 'it is a replica itself' : undefined),
      (error: unknown) => String(error),
    );
    if (reason === undefined) return;
    if (performance.now() > deadline)
      throw new StackFault(
        `no primary to copy from: ${peer.name} is none (${reason}); SELECT pg_promote() makes a ` +
          'replica the primary',
      );
    await pause(POLL_MS, undefined, { signal });
  }
}

async function copyFrom(
  client: Client,
  name: string,
  half: string,
  password: string,
): Promise<void> {
  const slot = slotOf(name);
  await client.query(`DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${REPLICATOR}') THEN
      CREATE ROLE ${REPLICATOR} LOGIN REPLICATION PASSWORD '${password}';
    END IF; END $$`);
  await client.query(
    'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1',
    [slot],
  );
  // From here on the primary keeps its log for this replica.
  await client.query('SELECT pg_create_physical_replication_slot($1, true)', [slot]);
  await client.query('SELECT pg_backup_start($1, true)', [name]);
  const { rows } = await client.query<{ folder: string }>(
    "SELECT current_setting('data_directory') folder",
  );
  const from = rows[0]?.folder ?? '';
  await copyFolder(from, half, '');
  await copyFile(join(from, CONTROL), join(half, CONTROL));
  const stopped = await client.query<{ labelfile: string }>('SELECT * FROM pg_backup_stop(false)');
  writeFileSync(join(half, 'backup_label'), stopped.rows[0]?.labelfile ?? '', { mode: 0o600 });
  writeFileSync(join(half, FOLLOWS), '', { mode: 0o600 });
}

/** Folders whose contents belong to the running server alone, or come with the log. */
const EMPTY_FOLDERS = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const NOT_COPIED = /^(?:postmaster\..*|backup_label.*|standby\.signal|pg_control|pgsql_tmp.*)$/;

/** Copies what is there: a file that vanishes meanwhile is restored, or removed, by the log. */
async function copyFolder(from: string, to: string, path: string): Promise<void> {
  await mkdir(join(to, path), { mode: 0o700 });
  if (EMPTY_FOLDERS.has(path)) return;
  for (const entry of await readdir(join(from, path), { withFileTypes: true })) {
    if (NOT_COPIED.test(entry.name)) continue;
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await copyFolder(from, to, inner);
    else
      await copyFile(join(from, inner), join(to, inner)).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      });
  }
}

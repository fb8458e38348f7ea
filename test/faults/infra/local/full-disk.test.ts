import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { cacheFolder } from '../../../../infra/local/fetch/cache.ts';
import { findPrograms } from '../../../../infra/local/fetch/programs.ts';
import { supervise } from '../../../../infra/local/process/supervise.ts';
import { createServers } from '../../../../infra/local/servers/servers.ts';
import { folderAt, openFolder, type Folder } from '../../../../infra/local/stack/folder.ts';
import { watchRoom } from '../../../../infra/local/stack/room.ts';
import { localAddresses } from '../../../../infra/local/stack/services.ts';
import { defaultPorts } from '../../../../infra/services/ports.ts';
import { rowsOf } from '../../../support/database.ts';
import { appendAll, freshTopic, readAll, testKafka } from '../../../support/kafka.ts';
import { fillDisk, mountSmallDisk } from '../../../support/small-disk.ts';
import { takePort } from '../../../support/free-ports.ts';
import { silentReport } from '../../../support/silent-report.ts';
import { KAFKA_JAVA } from '../../../support/stack.ts';

const DISK_BYTES = 220 * 2 ** 20;

/** A folder that is a disk of its own; undefined where this user may not mount one. */
function smallDisk(): Folder | undefined {
  const root = mkdtempSync(join(tmpdir(), 'clt-test-disk-'));
  const isMounted = mountSmallDisk(root, DISK_BYTES);
  // the last one first
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  if (isMounted) onTestFinished(() => void spawnSync('umount', ['-l', root]));
  return isMounted ? folderAt(root) : undefined;
}

test('on a full disk Kafka and Postgres say so, lose nothing, and go on by themselves when there is room', async ({
  skip,
}) => {
  const folder = smallDisk();
  if (folder === undefined) return skip('this user may not mount a file system');
  openFolder(folder);
  const taken = [await takePort(), await takePort(), await takePort()];
  onTestFinished(() => taken.forEach(({ release }) => release()));
  const [kafkaPort = 0, controller = 0, postgresPort = 0] = taken.map(({ port }) => port);
  const ports = {
    ...defaultPorts,
    kafka: kafkaPort,
    kafka_controller: controller,
    postgres: postgresPort,
  };
  const stop = new AbortController();
  const programs = await findPrograms(
    cacheFolder(process.env),
    process.env,
    silentReport,
    stop.signal,
  );
  const lines: string[] = [];
  const room = watchRoom(folder, (text) => void lines.push(text));
  onTestFinished(() => room.close());
  const { kafka, postgres } = createServers(folder, programs, ports, { kafka_java: KAFKA_JAVA });
  let starts = 0;
  const supervised = [kafka, postgres].map((server) => {
    const events = {
      line(text: string) {
        lines.push(text);
        room.check();
      },
      ready: () => void starts++,
      working: () => undefined,
    };
    return supervise(server, false, stop.signal, events, [100]);
  });
  onTestFinished(async () => {
    stop.abort();
    await Promise.all([kafka.child?.kill(), postgres.child?.kill()]);
    await Promise.all(supervised.map(({ ended }) => ended));
  });
  await Promise.all(supervised.map(({ ready }) => ready));

  const { kafka_brokers, postgres_url } = localAddresses(ports);
  const log = testKafka({ kafka_brokers });
  const topic = await freshTopic(log);
  const value = Buffer.alloc(100_000);
  const append = (name: string): Promise<unknown> =>
    appendAll(log, topic, [{ key: name, value, headers: {}, timestamp: 0 }]);
  const database = new Client({ connectionString: postgres_url });
  database.on('error', () => undefined);
  await database.connect();
  await database.query('CREATE TABLE public.rows (name text, filler text)');
  await database.query('ALTER TABLE public.rows ALTER filler SET STORAGE external');
  const insert = (name: string): Promise<unknown> =>
    database.query('INSERT INTO public.rows VALUES ($1, $2)', [name, 'x'.repeat(100_000)]);

  const [appended, inserted]: [string[], string[]] = [['before'], ['before']];
  await append('before');
  await insert('before');
  const makeRoom = fillDisk(folder.root);
  const insertUntilFull = async (): Promise<unknown> => {
    for (let at = 0; ; at++) {
      await insert(`row ${at}`);
      inserted.push(`row ${at}`);
    }
  };
  // Postgres refuses the row, or starts again where its own log has no room
  await expect(insertUntilFull()).rejects.toThrow(/No space left|Connection terminated/);
  const broker = kafka.child;
  const hasEnded = (): boolean => broker?.exited !== undefined;
  const appendUntilFull = async (): Promise<void> => {
    for (let at = 0; !hasEnded(); at++) {
      // the writer repeats it until there is room
      await append(`record ${at}`);
      appended.push(`record ${at}`);
    }
  };
  const appending = appendUntilFull();
  await broker?.exit;
  await expect
    .poll(() => lines.join('\n'))
    .toMatch(/^disk full: .*; everything goes on by itself/m);
  expect(lines.join('\n')).toMatch(/^kafka .*: restarting it/m);

  const before = starts;
  makeRoom();
  await expect.poll(() => starts).toBeGreaterThan(before);
  room.check();
  // a server that starts again may have written lines of its own since
  const rooms = lines.filter((line) => /^(disk full|low on disk|room again): /.test(line));
  expect(rooms.at(-1)).toMatch(/^low on disk: \d+ MB free/);
  await appending;
  await append('after');
  const again = `INSERT INTO public.rows VALUES ('after') RETURNING name`;
  await expect.poll(() => rowsOf(postgres_url, again)).toEqual([{ name: 'after' }]);
  const names = (await readAll(log, topic)).map(({ key }) => String(key));
  // one whose acknowledgement was lost may be there twice
  expect(new Set(names)).toEqual(new Set([...appended, 'after']));
  const rows = await rowsOf(postgres_url, 'SELECT name FROM public.rows');
  expect(rows).toEqual([...inserted, 'after'].map((name) => ({ name })));
  await database.end();
});

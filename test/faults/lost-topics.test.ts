/** Topics that were deleted or cut, which a person repairs as `repaired-system.ts` says. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { CHAIN_BLOCKS, SCHEMA_IDS, TOPICS, TREASURY_LEDGER } from '../../schemas/topics.ts';
import { deleteRecordsBefore, withRawAdmin } from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { isSaidBy, RepairedSystem } from './repaired-system.ts';

let system: RepairedSystem;
beforeAll(async () => {
  system = await RepairedSystem.open();
  return () => system.close();
});

/** Projectors that read chain.blocks. */
const BLOCK_READERS = ['explorer', 'ride-market', 'series'];

/** Replaces the brokers' data by those of a copy, as the page on backups says. */
async function restore(copy: string): Promise<void> {
  await system.npmRun('down');
  rmSync(join(system.folder.data, 'kafka'), { recursive: true });
  cpSync(join(copy, 'kafka'), join(system.folder.data, 'kafka'), { recursive: true });
  rmSync(copy, { recursive: true });
  await system.npmRun('up');
}

test('a deleted chain.blocks is named by its readers, comes back by the commands that they name, and earlier reserve runs hold', async () => {
  await system.credit(9);
  await withRawAdmin(system.kafka, (admin) => admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] }));
  const needs = ['chain-ingester', 'treasury', ...BLOCK_READERS.map((name) => `projector-${name}`)];
  let named: readonly string[] = [];
  await until(
    async () =>
      (named = (await system.faults()).filter((fault) =>
        fault.includes('have no topic chain.blocks.'),
      )),
    'each reader and the writer to name the topic',
    (said) => needs.every((name) => said.some((fault) => isSaidBy(name, fault))),
  );
  const typed = new Set<string>();
  const type = async (command: string): Promise<void> => {
    expect([command, await system.op(...command.split(' '))]).toMatchObject([command, { code: 0 }]);
    typed.add(command);
  };
  const [, restart = ''] = /npx ops (restart [\w-]+)/.exec(named.join()) ?? [];
  await type(restart);
  await until(
    async () => {
      const said = await system.faults();
      for (const [, command = ''] of said
        .join('\n')
        .matchAll(/npx ops (re(?:build|start) [\w-]+)/g))
        if (/: HALTED/.test(said.join()) && !typed.has(command)) await type(command);
      return said;
    },
    'every service to go on',
    (said) => said.length === 0,
  );
  await system.credit(10);
  await system.expectWhole();
});

test('deleted heads of topics are named, stop each reader that starts, and come back from the copy with a ledger that was deleted', async () => {
  await system.credit(7);
  const copy = join(system.folder.root, 'copy');
  await system.npmRun('down');
  cpSync(system.folder.data, copy, { recursive: true });
  await system.npmRun('up', '--servers-only');
  const topics = [...TOPICS, SCHEMA_IDS].map(({ name }) => name);
  const ends = await Promise.all(topics.map((name) => system.endOf(name)));
  // without a garbage record before, nothing was skipped
  const written = topics.filter((_, at) => (ends[at] ?? 0n) > 0n);
  const cut = written.filter((name) => name !== TREASURY_LEDGER.name);
  for (const topic of cut) await deleteRecordsBefore(system.kafka, topic, 1);
  await withRawAdmin(system.kafka, (admin) =>
    admin.deleteTopics({ topics: [TREASURY_LEDGER.name] }),
  );
  await system.npmRun('down');
  await system.run(['up']).ended();
  const readers = ['explorer', 'ride-market', 'series', 'deposits', 'watch', 'reserve'];
  const halted = ['chain-ingester', 'treasury', ...readers.map((name) => `projector-${name}`)];
  await until(
    () => system.faults(),
    'each topic to be named, and each reader to have halted',
    (said) =>
      TOPICS.filter(({ name }) => cut.includes(name)).every(({ name }) =>
        said.some((fault) => fault.startsWith(`${name}/0 begins at offset 1: `)),
      ) &&
      halted.every((name) =>
        said.some((fault) => fault.includes(': HALTED') && isSaidBy(name, fault)),
      ),
  );
  await restore(copy);
  await system.credit(8);
  await system.expectWhole();
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { archiveFile, archiveOption, archivesName } from '../../../infra/local/class-archives.ts';

test('another Java, or another place of what it runs, has archives of its own', () => {
  const one = archivesName('17.0.1', ['/cache/kafka', '/cache/registry']);
  expect(one).toMatch(/^classes-[0-9a-f]{8}$/);
  expect(archivesName('17.0.1', ['/cache/kafka', '/cache/registry'])).toBe(one);
  const others = [
    archivesName('17.0.2', ['/cache/kafka', '/cache/registry']),
    archivesName('17.0.1', ['/cache/kafka-2', '/cache/registry']),
  ];
  expect(new Set([one, ...others]).size).toBe(3);
});

test('a server starts with its archive where there is one, and without where there is none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'archives-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(archiveOption(folder, 'kafka')).toEqual([]);
  writeFileSync(archiveFile(folder, 'kafka'), '');
  expect(archiveOption(folder, 'kafka')).toEqual([
    `-XX:SharedArchiveFile=${archiveFile(folder, 'kafka')}`,
  ]);
  expect(archiveOption(folder, 'registry')).toEqual([]);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { timeline } from '../../../../infra/local/cluster/replica.ts';

/** A data folder whose newest checkpoint is of this timeline. */
function dataFolder(checkpoint: number, histories: readonly string[]): string {
  const data = mkdtempSync(join(tmpdir(), 'clt-test-replica-'));
  onTestFinished(() => rmSync(data, { recursive: true }));
  for (const folder of ['global', 'pg_wal']) mkdirSync(join(data, folder));
  const control = Buffer.alloc(64);
  control.writeUInt32LE(checkpoint, 48);
  writeFileSync(join(data, 'global', 'pg_control'), control);
  for (const name of histories) writeFileSync(join(data, 'pg_wal', name), '');
  return data;
}

test.each([
  ['never promoted', 1, ['000000010000000000000003'], 1],
  ['promoted a moment ago, before its first checkpoint', 1, ['00000002.history'], 2],
  ['promoted twice', 2, ['00000002.history', '00000003.history'], 3],
  ['promoted ten times', 11, ['0000000B.history'], 11],
])('a Postgres that was %s is on its newest timeline', (_, checkpoint, histories, expected) => {
  expect(timeline(dataFolder(checkpoint, histories))).toBe(expected);
});

test('a folder without data is on no timeline', () => {
  expect(timeline('/nowhere')).toBe(0);
});

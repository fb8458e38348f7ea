import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sourcesVersion } from '../../../../services/runtime/snapshots/sources-version.ts';

test('the version is another one after a change of any source, and of nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-sources-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const seen = new Set<string>();
  const look = (): number => seen.add(sourcesVersion([pathToFileURL(folder)])).size;
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write('fold.ts', 'one');
  expect([look(), look()]).toEqual([1, 1]);
  write('notes.md', 'nothing');
  expect(look()).toBe(1);
  write('fold.ts', 'two');
  expect(look()).toBe(2);
  write('Event.avsc', '{}');
  expect(look()).toBe(3);
  rmSync(join(folder, 'fold.ts'));
  expect(look()).toBe(4);
  write('other.ts', 'two');
  expect(look()).toBe(5);
});

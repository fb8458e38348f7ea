import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { textOf } from '../../support/compose.ts';
import { checkout } from '../../../infra/local/stack/folder.ts';

test('the page of compose names each test of containers in its table of claims', () => {
  const files = globSync('test/containers/*.test.ts', { cwd: checkout });
  const titles = files.flatMap((file) =>
    Array.from(textOf(file).matchAll(/^test\('([^']+)'/gm), ([, title = '']) => title),
  );
  const [, tried = ''] = textOf('docs/operations/compose.md').split('\n## Tried\n');
  const rows = tried.split('\n## ')[0]?.matchAll(/^\| [^|]*\| ([^|]+) \|$/gm) ?? [];
  const named = Array.from(rows, ([, title = '']) => title).filter((title) => title !== 'test');
  expect(named.toSorted()).toEqual(titles.toSorted());
});

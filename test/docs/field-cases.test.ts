import { expect, test } from 'vitest';
import { sectionRows } from '../support/claims.ts';
import { textOf } from '../support/compose.ts';

const PAGE = 'docs/field-cases.md';
const rows = sectionRows(PAGE, 'Cases').slice(1);

/** The tests that a row names: the path of a file, then its title, each in code quotes. */
function testsIn(cell: string): readonly (readonly [path: string, title: string])[] {
  return Array.from(cell.matchAll(/`(test\/[^`]+)`: ([^;]+)/g), ([, path = '', title = '']) => [
    path,
    title.trim(),
  ]);
}

test('the page of field cases has cases, each with its public source and a test', () => {
  expect(rows.length).toBeGreaterThanOrEqual(12);
  for (const [source = '', , tried = ''] of rows)
    expect([source, testsIn(tried).length]).toEqual([
      expect.stringMatching(/\]\(https:\/\/[^)]+\)/),
      expect.toSatisfy((tests: number) => tests > 0),
    ]);
});

test('each test that the page of field cases names is there', () => {
  const named = rows.flatMap(([, , tried = '']) => testsIn(tried));
  const missing = named.filter(
    ([path, title]) => ![`'${title}'`, `"${title}"`].some((text) => textOf(path).includes(text)),
  );
  expect(missing).toEqual([]);
});

/** Tables of a page whose last column has the titles of tests. */
import { globSync } from 'node:fs';
import { checkout } from '../../infra/local/stack/folder.ts';
import { textOf } from './compose.ts';

/** The titles of the tests in these files, without those that have several cases. */
export function titlesIn(files: string): readonly string[] {
  return globSync(files, { cwd: checkout }).flatMap((file) =>
    Array.from(textOf(file).matchAll(/^test\((['"])(.+?)\1,/gm), ([, , title = '']) => title),
  );
}

/** The cells of each row of the table below this heading, with those of its head. */
export function sectionRows(page: string, heading: string): readonly (readonly string[])[] {
  const [, section = ''] = textOf(page).split(`\n## ${heading}\n`);
  const rows = section.split('\n## ')[0]?.matchAll(/^\| (.*) \|$/gm) ?? [];
  return Array.from(rows, ([, cells = '']) => cells.split(/ ?\| /));
}

/** The last column of the table below this heading. */
export function claimsOf(page: string, heading: string): readonly string[] {
  const titles = sectionRows(page, heading).map((cells) => cells.at(-1) ?? '');
  return titles.filter((title) => title !== 'test');
}

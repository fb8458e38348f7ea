/** Shell blocks of README and docs. One marked `sh no-run` needs more than a local stack. */
import { globSync, readFileSync } from 'node:fs';
import { checkout } from '../../infra/local/stack/folder.ts';

export interface ShellBlock {
  /** after `sh`, such as `no-run` */
  readonly mark: string;
  readonly code: string;
}

/** Paths from the checkout. */
export function documentPaths(): readonly string[] {
  return ['README.md', ...globSync('docs/**/*.md', { cwd: checkout }).toSorted()];
}

export function shellBlocks(path: string): readonly ShellBlock[] {
  const text = readFileSync(`${checkout}/${path}`, 'utf8');
  return Array.from(text.matchAll(/^```sh *(.*)\n([^]*?)^```$/gm), ([, mark = '', code = '']) => ({
    mark,
    code,
  }));
}

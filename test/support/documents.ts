/** Code blocks of README and docs. One marked `sh no-run` needs more than a local stack. */
import { globSync, readFileSync } from 'node:fs';
import { checkout } from '../../infra/local/stack/folder.ts';

export interface CodeBlock {
  /** after the language, such as `no-run` */
  readonly mark: string;
  readonly code: string;
}

/** Paths from the checkout. */
export function documentPaths(): readonly string[] {
  return ['README.md', ...globSync('docs/**/*.md', { cwd: checkout }).toSorted()];
}

export function codeBlocks(path: string, language: string): readonly CodeBlock[] {
  return blocksIn(textOf(path), language);
}

function textOf(path: string): string {
  return readFileSync(`${checkout}/${path}`, 'utf8');
}

function blocksIn(text: string, language: string): readonly CodeBlock[] {
  const block = new RegExp(`^\`\`\`${language} *(.*)\\n([^]*?)^\`\`\`$`, 'gm');
  return Array.from(text.matchAll(block), ([, mark = '', code = '']) => ({ mark, code }));
}

/** The shell blocks below the heading `## heading` of a page. */
export function blocksBelow(path: string, heading: string): readonly CodeBlock[] {
  const section = textOf(path)
    .split(/^## /m)
    .find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${path} has no heading ${heading}`);
  return blocksIn(section, 'sh');
}

export function shellBlocks(path: string): readonly CodeBlock[] {
  return codeBlocks(path, 'sh');
}

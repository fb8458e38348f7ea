import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { documentPaths } from '../support/documents.ts';

const WORD = /\w+/g;
const CODE = [
  '{services,projections,schemas,infra,test}/**/*.{ts,sql,sh,yml,yaml,conf,avsc,graphql}',
  'packages/*/{*.md,src/**/*.ts}',
  'docker-compose*.yml',
];

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

/** Without blocks of code and inline code, which link nowhere. */
function prose(path: string): string {
  return read(path)
    .replaceAll(/^( *)```[^]*?^\1```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '``');
}

/** As GitHub makes the anchors of headings. */
function anchors(path: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = read(path).replaceAll(/^( *)```[^]*?^\1```$/gm, '');
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.+?)\s*$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let times = 1; found.has(unique); times++) unique = `${anchor}-${times}`;
    found.add(unique);
  }
  return found;
}

/** The fault of a link from a document. */
function problemOf(from: string, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : join(dirname(from), path);
  const full = join(checkout, target);
  if (!existsSync(full)) return `${from}: ${link}: no such file`;
  if (anchor === undefined) return undefined;
  if (statSync(full).isDirectory() || !target.endsWith('.md'))
    return `${from}: ${link}: no anchors`;
  return anchors(target).has(anchor) ? undefined : `${from}: ${link}: no such heading`;
}

/** The page of a folder, for those who open it first. */
const folderPages = globSync('{services,projections}/**/README.md', {
  cwd: checkout,
  exclude: ['**/node_modules/**'],
});
const documents = [
  ...documentPaths(),
  ...globSync('packages/*/*.md', { cwd: checkout }),
  ...folderPages,
];

test.for(documents)('every link and picture of %s leads somewhere', (path) => {
  const links = [...prose(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  expect(links.flatMap((link) => problemOf(path, link) ?? [])).toEqual([]);
});

test('links that lead nowhere are found', () => {
  const from = 'docs/operations/money.md';
  expect(problemOf(from, 'ops.md')).toBeUndefined();
  expect(problemOf(from, '#a-held-deposit')).toBeUndefined();
  expect(problemOf(from, '../decisions/log.md#log-3-the-offset-is-the-compare-and-set')).toBe(
    undefined,
  );
  expect(problemOf(from, 'none.md')).toContain('no such file');
  expect(problemOf(from, '#none')).toContain('no such heading');
});

const CODE_FILES = globSync('{services,projections,schemas,infra,test}/**/*.{ts,sql,sh}', {
  cwd: checkout,
  exclude: ['**/node_modules/**', 'test/docs/**'],
});
const FILE_NAMES = new Set(CODE_FILES.map((path) => basename(path)));
const WORDS = new Set(
  [...CODE_FILES, 'package.json'].flatMap((path) => read(path).match(WORD) ?? []),
);

/** Paths, file names and words in code quotes that the code does not have, but for commands. */
function unknownNames(page: string, text = read(page)): readonly string[] {
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
  return quoted.filter((name) => {
    if (/[^\w./:-]/.test(name)) return false;
    if (/^\w.*\//.test(name))
      return ![dirname(page), '.'].some((from) => existsSync(join(checkout, from, name)));
    if (/\.(?:ts|sql)$/.test(name)) return !FILE_NAMES.has(name);
    return !(name.match(WORD) ?? []).every((word) => WORDS.has(word));
  });
}

test.for(folderPages)('every name and path of %s is in the code', (page) => {
  expect(unknownNames(page)).toEqual([]);
});

test('names and paths that the code does not have are found', () => {
  const known =
    '`treasury.ts` `Treasury` `ledger/books.ts` `services/ops` `/status` `npm run none`';
  const unknown = ['nowhere.ts', 'NowhereBook', 'ledger/nowhere.ts', '/nowherePath'];
  const text = `${known} ${unknown.map((name) => `\`${name}\``).join(' ')}`;
  expect(unknownNames('services/treasury/README.md', text)).toEqual(unknown);
});

const DECISION = /^## ([A-Z]{3}-\d+) /gm;
const decisions = globSync('docs/decisions/*.md', { cwd: checkout }).flatMap((path) =>
  [...read(path).matchAll(DECISION)].map(([, id = '']) => id),
);

/** The ids of decisions that were removed. */
const REMOVED = /^Removed: .*?\.$/ms;

test('an id of a decision is used once, also after the decision was removed', () => {
  const [removed = ''] = REMOVED.exec(read('docs/decisions/README.md')) ?? [];
  const all = [...decisions, ...(removed.match(/[A-Z]{3}-\d+/g) ?? [])];
  const subjects = Map.groupBy(all, (id) => id.slice(0, 3));
  expect(subjects.size).toBeGreaterThan(8);
  for (const [subject, ids] of subjects)
    expect(ids.toSorted(byNumber)).toEqual(ids.map((_, at) => `${subject}-${at + 1}`));
});

function byNumber(one: string, other: string): number {
  return Number(one.slice(4)) - Number(other.slice(4));
}

test('every decision that code or a page cites exists', () => {
  const known = new Set(decisions);
  const subjects = [...new Set(decisions.map((id) => id.slice(0, 3)))].join('|');
  const cited = new RegExp(`\\b(?:${subjects})-\\d+\\b`, 'g');
  const paths = [...documents, ...globSync([...CODE], { cwd: checkout })].filter(
    (path) => !path.includes('node_modules'),
  );
  expect(paths.length).toBeGreaterThan(500);
  const unknown = paths.flatMap((path) =>
    [...read(path).replace(REMOVED, '').matchAll(cited)]
      .filter(([id]) => !known.has(id))
      .map(([id]) => `${path}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

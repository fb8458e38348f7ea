import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { codeBlocks, documentPaths } from '../support/documents.ts';

/** Blocks marked with a path, such as `ts test/docs/panels/panels.ts`. */
const examples = documentPaths().flatMap((document) =>
  ['ts', 'sql']
    .flatMap((language) => codeBlocks(document, language))
    .filter(({ mark }) => mark.startsWith('test/docs/')),
);

test('the docs have examples of code that tests run', () => {
  expect(examples.length).toBeGreaterThan(2);
});

test.for(examples)('the docs show $mark as it is', ({ mark, code }) => {
  expect(code).toBe(readFileSync(join(checkout, mark), 'utf8'));
});

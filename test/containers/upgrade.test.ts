/** An earlier version, and this one over its volumes. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { composed } from './composed.ts';
import { Payer } from './payer.ts';

/** The version of the morning of 2026-11-28: its Kafka has no accounts. */
const EARLIER = '53ab9ad7';

function git(...args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: checkout, maxBuffer: 2 ** 28 });
}

/** The files of a commit, in a new folder. */
function files(commit: string, folder: string): void {
  mkdirSync(folder);
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
}

function isKnown(commit: string): boolean {
  try {
    return git('cat-file', '-e', `${commit}^{commit}`).length === 0;
  } catch {
    return false;
  }
}

test('this version goes on with the volumes of an earlier one, whose Kafka had no accounts', async (context) => {
  const system = composed(context);
  if (!isKnown(EARLIER)) context.skip(`${EARLIER} is not in this clone: git fetch --unshallow`);
  await system.wipe();
  const folder = join(system.folder, 'earlier');
  files(EARLIER, folder);
  const earlier = system.version({ checkout: folder, image: 'clt-test-earlier' });
  await earlier.up();
  const payer = await Payer.signIn(earlier);
  await payer.pay('10000000');
  await payer.shows('credited');
  expect((await earlier.compose(['down'])).code).toBe(0);
  await system.up();
  await payer.shows('credited');
  await payer.pay('20000000');
  await payer.shows('credited', 'credited');
  const { code, stdout, stderr } = await system.ops('audit');
  expect(code, stdout + stderr).toBe(0);
});

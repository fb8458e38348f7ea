import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openIdentity } from '../../../../infra/devnet/store/identity.ts';

const WANTED = { seed: 'one', chain_id: 7777, is_testnet: true, finality_depth: 12 };
let directory = '';

beforeEach(() => {
  directory = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-identity-')), 'new');
});
afterEach(() => {
  fs.rmSync(path.dirname(directory), { recursive: true, force: true });
});

test('a chain keeps its genesis time', () => {
  expect(openIdentity(directory, WANTED, 1_000)).toEqual({
    settings: { ...WANTED, timestamp: 1_000 },
  });
  expect(openIdentity(directory, WANTED, 2_000)).toEqual({
    settings: { ...WANTED, timestamp: 1_000 },
  });
});

test('changed chain settings are refused by name without revealing the seed', () => {
  openIdentity(directory, WANTED, 1_000);
  const other = openIdentity(
    directory,
    { seed: 'another secret', chain_id: 1, is_testnet: false, finality_depth: 3 },
    2_000,
  );
  const problems = 'problems' in other ? other.problems : [];
  expect(problems.map((problem) => problem.split(':')[0])).toEqual([
    'APP_CHAIN_ID',
    'APP_NETWORK',
    'APP_FINALITY_DEPTH',
    'APP_DEVNET_SEED',
  ]);
  expect(problems.join()).not.toContain('another secret');
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { developmentSecrets, makeSecrets, secretProblems } from '../../../infra/compose/secrets.ts';
import { parsePostgresUrl } from '../../../services/runtime/process/postgres-url.ts';

const DEVELOPMENT = join(import.meta.dirname, '../../../infra/compose/development');
const names = Object.keys(developmentSecrets);
const OF_A_PERSON = ['mint_key', 'deposit_xpub', 'tron_api_key'];
const MAY_BE_EMPTY = new Set(['tron_api_key', 'jwt_secret_also']);
const needed = names.filter((name) => !MAY_BE_EMPTY.has(name));

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function reader(folder: string): (name: string) => string {
  return (name) => readFileSync(join(folder, name), 'utf8');
}

test('the files of development have the secrets that everybody knows', () => {
  expect(readdirSync(DEVELOPMENT).toSorted()).toEqual(names.toSorted());
  for (const name of names) expect(reader(DEVELOPMENT)(name).trim()).toBe(developmentSecrets[name]);
});

test('the testnet takes them, and the mainnet refuses each in words', () => {
  expect(secretProblems('testnet', reader(DEVELOPMENT))).toEqual([]);
  const refused = secretProblems('mainnet', reader(DEVELOPMENT));
  expect(refused).toHaveLength(needed.length);
  for (const [at, name] of needed.entries()) {
    expect(refused[at]).toContain(`the secret ${name} is that of development`);
    expect(refused[at]).toContain('APP_SECRETS_DIR');
  }
});

test('the mainnet refuses a known password in an address of another server', () => {
  const address = 'postgres://clt_writer:clt_writer@db.example:5432/other';
  const read = (name: string): string => (name === 'postgres_url' ? address : `own ${name}`);
  expect(secretProblems('mainnet', read)).toEqual([expect.stringContaining('postgres_url')]);
});

test('an empty secret is refused everywhere', () => {
  expect(secretProblems('testnet', () => ' \n')).toEqual(
    needed.map((name) => `the secret ${name} is empty: write it into its file`),
  );
});

test('made secrets belong together, are kept, and leave out what only a person has', () => {
  const folder = ownFolder();
  expect(makeSecrets(folder)).toEqual(OF_A_PERSON);
  const read = reader(folder);
  for (const [url, role] of [
    ['postgres_url', 'postgres_writer'],
    ['postgres_reader_url', 'postgres_reader'],
  ] as const)
    expect(parsePostgresUrl(read(url))?.password).toBe(read(role));
  expect(URL.parse(read('redis_url'))?.password).toBe(read('redis_conf').split(' ')[1]);
  expect(read('jwt_secret').length).toBeGreaterThanOrEqual(32);
  const made = readdirSync(folder).map((name) => [name, read(name)]);
  expect(new Set(made.map(([, text]) => text)).size).toBe(made.length);
  // the account of any container may read them
  for (const [name = ''] of made) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o644);
  expect(makeSecrets(folder)).toEqual(OF_A_PERSON);
  expect(readdirSync(folder).map((name) => [name, read(name)])).toEqual(made);
  const all = (name: string): string => (OF_A_PERSON.includes(name) ? 'of a person' : read(name));
  expect(secretProblems('mainnet', all)).toEqual([]);
});

test('a folder of an earlier version gets those that were added, and keeps the others', () => {
  const folder = ownFolder();
  makeSecrets(folder);
  const before = reader(folder)('postgres_reader');
  const accounts = names.filter((name) => name.startsWith('kafka_'));
  expect(accounts.length).toBeGreaterThan(10);
  for (const added of ['postgres_analyst', 'jwt_secret_also', ...accounts])
    rmSync(join(folder, added));
  makeSecrets(folder);
  for (const account of accounts) expect(reader(folder)(account)).toMatch(/^[0-9a-f]{32,}/);
  expect(reader(folder)('postgres_analyst')).toMatch(/^[0-9a-f]{32,}/);
  expect(reader(folder)('jwt_secret_also')).toBe('');
  expect(reader(folder)('postgres_reader')).toBe(before);
});

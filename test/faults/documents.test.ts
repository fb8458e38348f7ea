import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { checkout, folderAt } from '../../infra/local/stack/folder.ts';
import { defaultPorts, portNames, portVariable } from '../../infra/services/ports.ts';
import { runMain } from '../support/command-line.ts';
import { documentPaths, shellBlocks } from '../support/documents.ts';
import { privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import { removeSystem } from '../support/kept-logs.ts';
import { takePort } from '../support/free-ports.ts';
import { systemProgram } from '../support/system-program.ts';

const MARKS: ReadonlySet<string> = new Set(['', 'no-run']);
const WATCHED = 'explorer-gateway';
const releases: (() => void)[] = [];
/** the port that each default port stands for */
const ports = new Map<string, string>();
let folder = '';
let settings: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-documents-'));
  settings = { APP_LOCAL_DIR: folder };
  for (const name of portNames) {
    const { port, release } = await takePort();
    releases.push(release);
    ports.set(String(defaultPorts[name]), String(port));
    settings[portVariable(name)] = String(port);
  }
  // curl takes an error for an answer otherwise
  writeFileSync(join(folder, '.curlrc'), 'fail-with-body\n');
  await runMain(['dev', WATCHED], settings).prints('ready in');
});
afterAll(async () => {
  await runMain(['down'], settings).ended();
  for (const release of releases) release();
  removeSystem(folderAt(folder));
});

/** Its blocks run first, on a chain that stands still: others do what keeps deposits waiting. */
const ANALYSTS = 'docs/analysts.md';
const documents = documentPaths().filter(
  (path) => path !== ANALYSTS && shellBlocks(path).length > 0,
);

interface Pasted {
  readonly code: unknown;
  /** the errors in what is printed */
  readonly faults: readonly string[];
  readonly stdout: string;
}

function withPorts(text: string): string {
  return text.replaceAll(/\b1\d{4}\b/g, (port) => ports.get(port) ?? port);
}

/** In a shell that ends at the first command that fails. */
async function pasted(script: string): Promise<Pasted> {
  const env = {
    ...process.env,
    ...settings,
    APP_KAFKA_BROKERS: withPorts('127.0.0.1:19092'),
    APP_REGISTRY_URL: withPorts('http://127.0.0.1:18081/apis/ccompat/v7'),
    CURL_HOME: folder,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  };
  const shell = spawn('bash', ['-ev'], { cwd: checkout, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [printed, stdout] = ['', ''];
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  shell.stdout.on('data', (text: string) => (stdout += text));
  shell.stdin.end(withPorts(script));
  const [code] = await once(shell, 'close');
  const faults = printed.split('\n').filter((line) => /^\{"(?:code|error|errors)"/.test(line));
  if (code !== 0) faults.push(printed.slice(-2_000));
  return { code, faults, stdout };
}

/** The Debian package of the program that a block of that page needs, by its mark. */
const PROGRAMS: Readonly<Record<string, string>> = {
  psql: 'postgresql-client',
  kcat: 'kcat',
  python3: 'python3-venv',
};

async function ask<Answer>(port: number, path: string, body?: object, token = ''): Promise<Answer> {
  const response = await fetch(withPorts(`http://127.0.0.1:${port}${path}`), {
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  expect([path, response.ok]).toEqual([path, true]);
  const answer: Answer = await response.json();
  return answer;
}

interface Status {
  readonly indexed: { readonly height: number };
  readonly lag_blocks: number;
  readonly projections: readonly { readonly lag_records: number }[];
}

interface Deposits {
  readonly deposits: readonly { readonly status: string; readonly amount_usdt: number }[];
}

const BLOCKS_BETWEEN = 4;

/** The amount of a line, which is in USDT. */
function microOf(line: string): number {
  return Number(line.split(',')[2]?.replace('.', ''));
}

/** The beginning of a line of views.py, which names the tool. */
const TOOL = /^supply,\w+,/;

function kindOf(line: string): string {
  return line.slice(0, line.indexOf(','));
}

const KINDS = ['usdt', 'rides', 'supply'];

/** The kinds of lines that a block prints. */
function kindsOf(code: string): readonly string[] {
  if (code.includes('totals.py')) return KINDS;
  if (code.includes('views.py')) return ['supply'];
  return KINDS.filter((kind) => new RegExp(`["']${kind}\\b`).test(code));
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

/** Makes a block at once, and returns its height; the chain makes one a second by itself. */
async function mine(): Promise<number> {
  return (await ask<{ height: number }>(17099, '/admin/clt/block', {})).height;
}

async function setMoving(enabled: boolean): Promise<void> {
  await ask(17099, '/admin/traffic', { transactions_per_second: enabled ? 3 : 0 });
  await ask(17099, '/admin/clt/auto', { enabled });
}

/** Three reorganisations and a deposit that is minted; then the chain stands still. */
async function makeHistory(): Promise<readonly number[]> {
  // the wallet of the README
  const signer = privateKeySigner(`0x${'1'.padStart(64, '0')}`);
  const hub = { url: withPorts('http://localhost:17002/graphql'), chainId: 7777 };
  const { token } = await signIn(hub, signer);
  const { address } = await ask<{ address: string }>(17001, '/api/v1/deposits', {}, token);
  await ask(17099, '/admin/tron/transfers', { to: address, value: '12345678' });
  const height = async () => (await ask<Status>(17003, '/api/v1/status')).indexed.height;
  for (const depth of [1, 3, 2]) {
    let enough = 0;
    for (let block = 0; block < BLOCKS_BETWEEN; block++) enough = await mine();
    await expect.poll(height).toBeGreaterThanOrEqual(enough);
    await ask(17099, '/admin/clt/reorg', { depth });
  }
  const list = async () =>
    (await ask<Deposits>(17001, '/api/v1/deposits', undefined, token)).deposits;
  const areCredited = async () => {
    // a mint is credited when its block is final
    await mine();
    const all = await list();
    return (
      all.some(({ amount_usdt: amount }) => amount === 12_345_678) &&
      all.every(({ status }) => status === 'credited')
    );
  };
  await expect.poll(areCredited).toBe(true);
  const rides = async () =>
    (await ask<{ items: readonly unknown[] }>(17003, '/api/v1/transactions?type=RideAcceptance'))
      .items.length;
  await expect.poll(rides).toBeGreaterThan(0);
  await setMoving(false);
  const lag = async () => {
    const { lag_blocks, projections } = await ask<Status>(17003, '/api/v1/status');
    return projections.reduce((sum, { lag_records }) => sum + lag_records, lag_blocks);
  };
  await expect.poll(lag).toBe(0);
  const now = new Date().toISOString();
  const newestRun = async () =>
    (await ask<{ last_run: { run_at: string } }>(17003, '/api/v1/reserve')).last_run.run_at > now;
  await expect.poll(newestRun).toBe(true);
  return (await list()).map(({ amount_usdt }) => amount_usdt);
}

test('SQL, DuckDB, Python, kcat and the APIs give the same totals after three reorganisations', async ({
  annotate,
}) => {
  const blocks = shellBlocks(ANALYSTS);
  const missing = new Set<string>();
  for (const [program, package_name] of Object.entries(PROGRAMS))
    if ((await systemProgram([program], package_name)) === undefined) missing.add(program);
  const install = blocks.find(({ mark }) => mark === 'python3')?.code ?? '';
  // pip may have no network
  if (!missing.has('python3') && (await pasted(install)).code !== 0) missing.add('python3');
  if (missing.has('python3')) missing.add('kcat');
  for (const program of missing)
    await annotate(`the recipes that need ${program} are skipped: install ${PROGRAMS[program]}`);
  onTestFinished(() => setMoving(true));
  const arrived = await makeHistory();
  const run = blocks.filter(({ mark }) => !missing.has(mark));
  const { stdout, ...rest } = await pasted(run.map(({ code }) => `${code}echo ==\n`).join(''));
  expect(rest).toEqual({ code: 0, faults: [] });
  const ways = stdout
    .split('==\n')
    .map((text) => text.split('\n').filter((line) => /^(?:usdt|rides|supply),/.test(line)))
    .filter((lines) => lines.length > 0);
  const all = ways.find((lines) => lines.some((line) => line.startsWith('usdt,'))) ?? [];
  const recipes = run.map(({ code }) => kindsOf(code)).filter((kinds) => kinds.length > 0);
  expect(
    ways.map((lines) => KINDS.filter((kind) => lines.some((line) => kindOf(line) === kind))),
  ).toEqual(recipes);
  const byTool = ways.flat().filter((line) => TOOL.test(line));
  expect(byTool).toHaveLength(missing.has('python3') ? 0 : 9);
  for (const lines of ways) {
    const kinds = new Set(lines.map(kindOf));
    const expected = all.filter((line) => kinds.has(kindOf(line)));
    if (!lines.some((line) => TOOL.test(line))) expect(lines).toEqual(expected);
    else for (const line of lines) expect([line.replace(TOOL, 'supply,,')]).toEqual(expected);
  }
  const usdt = all.filter((line) => line.startsWith('usdt,')).map(microOf);
  expect(sumOf(usdt)).toBe(sumOf(arrived));
  expect(all.filter((line) => line.startsWith('rides,')).length).toBeGreaterThan(0);
});

test.for(documents)('each shell block of %s can be pasted after the one before', async (path) => {
  const blocks = shellBlocks(path);
  expect(blocks.filter(({ mark }) => !MARKS.has(mark))).toEqual([]);
  const code = blocks.filter(({ mark }) => mark === '').map((block) => block.code);
  expect(await pasted(code.join(''))).toMatchObject({ code: 0, faults: [] });
});

test('a service under development starts again when its code changes, and only then', async () => {
  const log = join(folder, 'logs', `${WATCHED}.log`);
  const starts = (): number => readFileSync(log, 'utf8').match(/"msg":"listening"/g)?.length ?? 0;
  expect(starts()).toBe(1);
  const now = new Date();
  utimesSync(join(checkout, 'services', WATCHED, 'config.ts'), now, now);
  await expect.poll(starts).toBe(2);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { defaultPorts, portNames, portVariable } from '../../infra/services/ports.ts';
import { runMain } from '../support/command-line.ts';
import { documentPaths, shellBlocks } from '../support/documents.ts';
import { takePort } from '../support/free-ports.ts';

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
}, 240_000);
afterAll(async () => {
  await runMain(['down', '--wipe'], settings).ended();
  for (const release of releases) release();
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

const documents = documentPaths().filter((path) => shellBlocks(path).length > 0);

test.for(documents)(
  'each shell block of %s can be pasted after the one before',
  { timeout: 240_000 },
  async (path) => {
    const blocks = shellBlocks(path);
    expect(blocks.filter(({ mark }) => !MARKS.has(mark))).toEqual([]);
    const code = blocks.filter(({ mark }) => mark === '').map((block) => block.code);
    const script = code.join('').replaceAll(/\b1\d{4}\b/g, (port) => ports.get(port) ?? port);
    expect(await pasted(script)).toEqual({ code: 0, faults: [] });
  },
);

/** A shell that ends at the first command that fails, and the errors in what is printed. */
async function pasted(script: string): Promise<{ code: unknown; faults: readonly string[] }> {
  const env = {
    ...process.env,
    ...settings,
    CURL_HOME: folder,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  };
  const shell = spawn('bash', ['-ev'], { cwd: checkout, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  shell.stdin.end(script);
  const [code] = await once(shell, 'close');
  const faults = printed.split('\n').filter((line) => /^\{"(?:code|error|errors)"/.test(line));
  if (code !== 0) faults.push(printed.slice(-2_000));
  return { code, faults };
}

test('a service under development starts again when its code changes, and only then', async () => {
  const log = join(folder, 'logs', `${WATCHED}.log`);
  const starts = (): number => readFileSync(log, 'utf8').match(/"msg":"listening"/g)?.length ?? 0;
  expect(starts()).toBe(1);
  const now = new Date();
  utimesSync(join(checkout, 'services', WATCHED, 'config.ts'), now, now);
  await expect.poll(starts).toBe(2);
});

/** Secrets: where they are, where they are not, and which of them the mainnet refuses. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { developmentSecrets } from '../../infra/compose/secrets.ts';
import { textOf } from '../support/compose.ts';
import { composed } from './composed.ts';
import { Payer } from './payer.ts';

const PUBLIC = 'infra/compose/development';
const MAINNET = 'clt-test-mainnet';

function read(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder);
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]));
}

test('each container has its secrets as files that it can read and not write, and no other', async (context) => {
  const system = composed(context);
  const texts = read(system.secrets);
  expect(statSync(system.secrets).mode & 0o777).toBe(0o700);
  const script =
    'for file in /run/secrets/*; do [ -w $file ] && echo writable; echo "$file $(cat $file)"; done';
  for (const name of system.servers) {
    const { secrets = [] } = system.file.services[name] ?? {};
    if (secrets.length === 0) continue;
    const { stdout, stderr } = await system.exec(name, ['sh', '-c', script]);
    const expected = secrets.map((secret) => `/run/secrets/${secret} ${texts.get(secret)}`.trim());
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => line.trim()).toSorted(), stderr).toEqual(expected.toSorted());
  }
});

test('no secret is in the environment, the command or the log of a container', async (context) => {
  const system = composed(context);
  // services log more once they have something to do
  const payer = await Payer.signIn(system);
  await payer.pay('10000000');
  await payer.shows('credited');
  const values = [...read(system.secrets)].filter(([, value]) => value !== '');
  expect(values.length).toBeGreaterThan(10);
  for (const [name, { Id, Config, State }] of await system.containers()) {
    const environment =
      State.Status === 'running' ? await system.exec(name, ['cat', '/proc/1/environ']) : undefined;
    const log = await system.engine.end('docker', ['logs', Id]);
    expect(log.code, name).toBe(0);
    const text = [JSON.stringify(Config), environment?.stdout, log.stdout, log.stderr].join('\n');
    const found = values.filter(([, value]) => text.includes(value)).map(([secret]) => secret);
    expect(found, name).toEqual([]);
  }
});

test('the superuser of Postgres gets a new password by the command of the page', async (context) => {
  const system = composed(context);
  const page = textOf('docs/operations/compose.md');
  const script = /^docker compose exec postgres sh -c '(.*)'$/m.exec(page)?.[1] ?? '';
  const password = randomBytes(16).toString('hex');
  const input = `${password}\n`.repeat(2);
  const changed = await system.exec('postgres', ['sh', '-c', script], { input });
  expect(changed.code, changed.stdout + changed.stderr).toBe(0);
  writeFileSync(join(system.secrets, 'postgres_superuser'), password);
  const settled = await system.compose(['run', '--rm', '-T', '--no-deps', 'settle-postgres']);
  expect(settled.code, settled.stdout + settled.stderr).toBe(0);
});

test('with public secrets nothing starts on the mainnet, and the log says why', async (context) => {
  const system = composed(context);
  const settings = { APP_NETWORK: 'mainnet', APP_SECRETS_DIR: PUBLIC };
  try {
    const up = await system.compose(['up', '--detach', '--no-build'], settings, MAINNET);
    expect(up.code, up.stdout + up.stderr).not.toBe(0);
    const containers = await system.containers(MAINNET);
    const started = [...containers].filter(([, { State }]) => State.Status !== 'created');
    expect(started.map(([name]) => name)).toEqual(['check']);
    const { Id = '', State } = containers.get('check') ?? {};
    expect(State?.ExitCode).toBe(1);
    const { stderr: log } = await system.engine.end('docker', ['logs', Id]);
    for (const [name, known] of Object.entries(developmentSecrets))
      expect(log.includes(`the secret ${name} is that of development`)).toBe(known !== '');
    expect(log).toContain('APP_SECRETS_DIR');
  } finally {
    await system.wipe(MAINNET);
  }
});

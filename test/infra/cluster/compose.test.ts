import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterFile } from '../../../infra/cluster/compose.ts';
import { clusterEnvironment } from '../../../infra/cluster/environment.ts';
import { addresses, prepare } from '../../../infra/cluster/prepare.ts';
import { passwordsIn, secretFolders } from '../../../infra/cluster/principals.ts';
import { instances } from '../../../infra/local/cluster/layout.ts';
import { readClusterPorts } from '../../../infra/local/cluster/ports.ts';
import { defaultPorts } from '../../../infra/services/ports.ts';
import { serviceEnvironment } from '../../../infra/services/services.ts';
import { defaultSettings } from '../../../infra/services/settings.ts';
import {
  envFileOf,
  parseCompose,
  publicPorts,
  secretOf,
  withDefaults,
} from '../../support/compose.ts';

const file = parseCompose(clusterFile());

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-compose-'));
  await prepare(folder, new Date());
});
afterAll(() => rmSync(folder, { recursive: true }));

test('every container depends on containers of the file', () => {
  for (const [name, { depends_on = {} }] of Object.entries(file.services))
    expect(
      Object.keys(depends_on).filter((other) => !(other in file.services)),
      name,
    ).toEqual([]);
});

test('every container that has secrets finds them, and only its own account reads them', () => {
  const mounts = Object.values(file.services).flatMap(({ volumes = [] }) =>
    volumes.flatMap((line) => /^\.\/\.local\/compose\/(.+):\/secrets:ro$/.exec(line)?.[1] ?? []),
  );
  expect(mounts.length).toBeGreaterThan(20);
  for (const name of mounts) {
    const path = join(folder, name, 'authority.crt');
    expect(existsSync(path), name).toBe(true);
    expect(statSync(path).mode & 0o77).toBe(0);
  }
});

test.each(instances(readClusterPorts({})))(
  '$name has the settings of the local cluster, and publishes the ports of gateways and devnet',
  ({ name, spec, ports }) => {
    const container = file.services[name];
    if (container === undefined) throw new Error(`the file of the cluster has no ${name}`);
    const { environment = {}, command = [], ports: published } = container;
    expect(command).toEqual(['--env-file=/secrets/environment', spec.entry, ...spec.args]);
    expect(published).toEqual(
      publicPorts(spec).map((port) => `127.0.0.1:${ports[port]}:${defaultPorts[port]}`),
    );
    const secret = parseEnv(readFileSync(join(folder, spec.name, 'environment'), 'utf8'));
    const passwords = passwordsIn(secretFolders(folder).passwords);
    expect(secret).toEqual(clusterEnvironment(spec, passwords, addresses));
    // node keeps a variable that is set already
    expect(Object.keys(environment).filter((variable) => variable in secret)).toEqual([]);
    const at = {
      kafka_brokers: '',
      registry_url: '',
      postgres_url: '',
      postgres_reader_url: '',
      postgres_analyst_url: '',
      redis_url: '',
      node_url: `http://devnet:${defaultPorts.node}`,
      tron_url: `http://devnet:${defaultPorts.tron}`,
      treasury_url: `http://treasury:${defaultPorts.treasury}`,
    };
    const place = { http_host: '0.0.0.0', ports: defaultPorts, data: '/data' };
    const own = new Set([...Object.keys(spec.testnet ?? {}), ...spec.variables]);
    const limits = Object.entries(envFileOf(container)).filter(([key]) => own.has(key));
    const shown = [...limits, ...Object.entries(environment)]
      .map(([key, value]) => {
        const given = withDefaults(value);
        const key_file = /^\/run\/secrets\/(\w+)$/.exec(given)?.[1];
        return key_file === undefined
          ? ([key, given] as const)
          : ([key.replace(/_FILE$/, ''), secretOf(file, key_file)] as const);
      })
      .filter(([, value]) => value !== '');
    expect({ ...Object.fromEntries(shown), ...secret }).toEqual({
      ...serviceEnvironment(spec, defaultSettings, at, place),
      ...secret,
    });
  },
);

test('a second preparation keeps certificates and passwords', async () => {
  const before = readFileSync(join(folder, 'treasury', 'environment'), 'utf8');
  const key = readFileSync(join(folder, 'kafka-1', 'server.pem'), 'utf8');
  await prepare(folder, new Date());
  expect(readFileSync(join(folder, 'treasury', 'environment'), 'utf8')).toBe(before);
  expect(readFileSync(join(folder, 'kafka-1', 'server.pem'), 'utf8')).toBe(key);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localAddresses } from '../../../../infra/local/stack/services.ts';
import { folderAt } from '../../../../infra/local/stack/folder.ts';
import { defaultPorts } from '../../../../infra/services/ports.ts';
import { defaultSettings } from '../../../../infra/services/settings.ts';
import {
  describeStack,
  stackSummary,
  writeStackFile,
} from '../../../../infra/local/stack/stack-file.ts';

const ports = { ...defaultPorts, tron: 1_234 };

function describe(pids: Readonly<Record<string, number>>): object {
  const settings = { ...defaultSettings, APP_JWT_SECRET: 'chosen' };
  return describeStack(folderAt('/stack'), ports, localAddresses(ports), settings, pids);
}

test('the URL of a service is null until it runs', () => {
  expect(describe({})).toMatchObject({
    deposit_url: null,
    hub_url: null,
    hub_ws_url: null,
    explorer_url: null,
    treasury_url: null,
    node_url: null,
    tron_url: null,
    devnet_url: null,
    services: {},
  });
  expect(describe({ devnet: 7, 'hub-gateway': 8, 'deposit-gateway': 9 })).toMatchObject({
    deposit_url: 'http://127.0.0.1:17001',
    hub_url: 'http://127.0.0.1:17002/graphql',
    hub_ws_url: 'ws://127.0.0.1:17002/graphql/ws',
    node_url: 'http://127.0.0.1:17545',
    tron_url: 'http://127.0.0.1:1234',
    devnet_url: 'http://127.0.0.1:17099',
    treasury_url: null,
  });
});

test('running services are listed with URL and pid, servers with their pid only', () => {
  expect(describe({ kafka: 6, devnet: 7, 'projector-ride-market': 8 })).toMatchObject({
    services: {
      devnet: { url: 'http://127.0.0.1:17099', pid: 7 },
      'projector-ride-market': { url: 'http://127.0.0.1:17024', pid: 8 },
    },
    pids: { kafka: 6, devnet: 7, 'projector-ride-market': 8 },
  });
  expect(describe({ kafka: 6 })).toMatchObject({ services: {} });
});

test('servers, secrets and the settings of a reconciliation on demand are listed', () => {
  expect(describe({})).toMatchObject({
    kafka_brokers: '127.0.0.1:19092',
    registry_url: 'http://127.0.0.1:18081/apis/ccompat/v7',
    redis_url: 'redis://127.0.0.1:16379',
    jwt_secret: 'chosen',
    operator_key: defaultSettings.APP_OPERATOR_KEY,
    chain_id: 7_777,
    network: 'testnet',
    deposit_xpub: defaultSettings.APP_DEPOSIT_XPUB,
    usdt_contract: defaultSettings.APP_USDT_CONTRACT,
    custody_addresses: defaultSettings.APP_CUSTODY_ADDRESSES,
    reconcile_requests_per_second: 200,
    reconcile_requests_per_day: 0,
  });
});

test.each([
  ['a cluster', 'postgres://clt_analyst@127.0.0.1:1/clt', { certificate_authority: '/a.crt' }],
  ['a plain stack', 'postgres://clt_analyst:secret@127.0.0.1:1/clt?sslmode=verify-full', {}],
])('the summary of %s for a person lists %s', (_, shown, more) => {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-summary-')));
  onTestFinished(() => rmSync(folder.root, { recursive: true }));
  const url = 'postgres://clt_analyst:secret@127.0.0.1:1/clt?sslmode=verify-full';
  writeStackFile(folder, { postgres_analyst_url: url, ...more });
  expect(stackSummary(folder)[0]?.trim().split(/ +/)).toEqual(['postgres', shown]);
});

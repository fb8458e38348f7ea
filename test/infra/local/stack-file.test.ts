import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { localAddresses } from '../../../infra/local/addresses.ts';
import { folderAt } from '../../../infra/local/folder.ts';
import { defaultPorts } from '../../../infra/local/ports.ts';
import { defaultCommon } from '../../../infra/local/choices.ts';
import { describeStack } from '../../../infra/local/stack-file.ts';

test('the deposits are there when their gateway runs, and the secret is the one that it was told', () => {
  const root = mkdtempSync(join(tmpdir(), 'stack-file-'));
  try {
    const described = (pids: Readonly<Record<string, number>>): object =>
      describeStack(
        folderAt(root),
        defaultPorts,
        localAddresses(defaultPorts),
        { ...defaultCommon, jwt_secret: 'told' },
        pids,
      );
    expect(described({ 'deposit-gateway': 7 })).toMatchObject({
      deposit_url: 'http://127.0.0.1:17001',
      jwt_secret: 'told',
    });
    // what reconciling on demand has to know of TRON
    expect(described({})).toMatchObject({
      usdt_contract: defaultCommon.usdt_contract,
      custody_addresses: defaultCommon.custody_addresses,
    });
    expect(described({})).toMatchObject({ deposit_url: null });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('the node, TRON and the admin port are there when the devnet runs, the treasury when it runs, and null when they do not', () => {
  const root = mkdtempSync(join(tmpdir(), 'stack-file-'));
  const folder = folderAt(root);
  mkdirSync(folder.data);
  const ports = { ...defaultPorts, tron: 1_234 };
  const describe = (pids: Readonly<Record<string, number>>): object =>
    describeStack(folder, ports, localAddresses(ports), defaultCommon, pids);
  try {
    expect(describe({ devnet: 7 })).toMatchObject({
      node_url: 'http://127.0.0.1:17545',
      tron_url: 'http://127.0.0.1:1234',
      devnet_url: 'http://127.0.0.1:17099',
    });
    expect(describe({ treasury: 8 })).toMatchObject({
      node_url: null,
      treasury_url: 'http://127.0.0.1:17004',
    });
    expect(describe({})).toMatchObject({
      node_url: null,
      tron_url: null,
      devnet_url: null,
      treasury_url: null,
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

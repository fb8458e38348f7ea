/**
 * A devnet inside the test, on free ports, without blocks or traffic unless the test makes them.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { toHex } from '../../schemas/address.ts';
import type { FunctionCall } from '../../schemas/function-call.ts';
import type { DevnetConfig } from '../../infra/devnet/config.ts';
import { readConfig } from '../../infra/devnet/config.ts';
import type { Devnet } from '../../infra/devnet/service.ts';
import { startDevnet } from '../../infra/devnet/service.ts';
import { signCall, type Key } from '../../infra/devnet/clt/keys.ts';
import { openIdentity } from '../../infra/devnet/store/identity.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class TestDevnet {
  readonly devnet: Devnet;
  readonly node_url: string;
  readonly tron_url: string;
  readonly admin_url: string;

  constructor(devnet: Devnet) {
    this.devnet = devnet;
    this.node_url = `http://127.0.0.1:${devnet.node_port}`;
    this.tron_url = `http://127.0.0.1:${devnet.tron_port}`;
    this.admin_url = `http://127.0.0.1:${devnet.admin_port}`;
  }

  get(route: string): Promise<Answer> {
    return asked(`${this.node_url}${route}`);
  }

  /** A GET without a body, a POST with one. */
  tron(route: string, body?: unknown): Promise<Answer> {
    return asked(
      `${this.tron_url}${route}`,
      body === undefined ? undefined : { method: 'POST', ...json(body) },
    );
  }

  admin(route: string, body?: unknown, method = 'POST'): Promise<Answer> {
    return asked(`${this.admin_url}${route}`, { method, ...json(body) });
  }

  /** Raw body, as it is. */
  post(body: unknown): Promise<Answer> {
    return asked(`${this.node_url}/v1/transactions`, { method: 'POST', ...json(body) });
  }

  /** Signed with the key at the nonce given, or at its next one. */
  send(
    key: Key,
    call: FunctionCall,
    nonce = this.devnet.node.chain.mempool.account(key.address).nonce,
  ): Promise<Answer> {
    return this.post({ raw_transaction: signCallText(key, 7777, nonce, call) });
  }

  async block(): Promise<void> {
    await this.admin('/admin/clt/block');
  }
}

/** A signed transaction as 0x + hex, as the node accepts it. */
export function signCallText(key: Key, chainId: number, nonce: number, call: FunctionCall): string {
  return toHex(signCall(key, chainId, nonce, call));
}

/** Calls `use` with a devnet in a new directory; closes and removes it afterwards. */
export async function withDevnet(
  use: (devnet: TestDevnet) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-'));
  const ports = { APP_NODE_PORT: '0', APP_TRON_PORT: '0', APP_ADMIN_PORT: '0' };
  const settings = {
    ...ports,
    APP_DEVNET_DIR: directory,
    APP_DEVNET_SEED: 'test',
    APP_LOG_LEVEL: 'silent',
  };
  const config = configOf({
    ...settings,
    APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '3600000',
    APP_BLOCK_INTERVAL_MS: '3600000',
    APP_TRAFFIC_PER_SECOND: '0',
    APP_FINALITY_DEPTH: '6',
    ...env,
  });
  const identified = openIdentity(directory, config, Date.now());
  if ('problems' in identified) throw new Error(identified.problems.join());
  const devnet = await startDevnet(config, identified.settings, pino({ level: config.log_level }));
  try {
    await use(new TestDevnet(devnet));
  } finally {
    await devnet.close();
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** As `withDevnet`, until the test ends. */
export async function openDevnet(env: Readonly<Record<string, string>> = {}): Promise<TestDevnet> {
  const opened = Promise.withResolvers<TestDevnet>();
  const finished = Promise.withResolvers<void>();
  const using = withDevnet(async (devnet) => {
    opened.resolve(devnet);
    await finished.promise;
  }, env);
  using.catch(opened.reject);
  onTestFinished(async () => {
    finished.resolve();
    await using;
  });
  return await opened.promise;
}

function configOf(env: Readonly<Record<string, string>>): DevnetConfig {
  const read = readConfig(env);
  if ('problems' in read) throw new Error(read.problems.join());
  return read.config;
}

function json(body: unknown): RequestInit {
  return body === undefined
    ? {}
    : {
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      };
}

async function asked(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

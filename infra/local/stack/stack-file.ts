import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Ports } from '../../services/ports.ts';
import { services, type Addresses } from '../../services/services.ts';
import type { StackSettings } from '../../services/settings.ts';
import { registryFile } from '../servers/registry.ts';
import type { Folder } from './folder.ts';

/** The address of an HTTP server on this machine, without a path. */
export function http(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * The contents of `stack.json`. The HTTP addresses of services have no path; null: the service does
 * not run.
 */
export function describeStack(
  folder: Folder,
  ports: Ports,
  at: Addresses,
  settings: StackSettings,
  pids: Readonly<Record<string, number>>,
) {
  const running = (name: string, url: string): string | null => (name in pids ? url : null);
  return {
    deposit_url: running('deposit-gateway', http(ports.deposit)),
    hub_url: running('hub-gateway', `${http(ports.hub)}/graphql`),
    hub_ws_url: running('hub-gateway', `ws://127.0.0.1:${ports.hub}/graphql/ws`),
    explorer_url: running('explorer-gateway', http(ports.explorer)),
    treasury_url: running('treasury', http(ports.treasury)),
    node_url: running('devnet', at.node_url),
    tron_url: running('devnet', at.tron_url),
    devnet_url: running('devnet', http(ports.devnet)),
    kafka_brokers: at.kafka_brokers,
    registry_url: at.registry_url,
    postgres_url: at.postgres_url,
    postgres_reader_url: at.postgres_reader_url,
    postgres_analyst_url: at.postgres_analyst_url,
    redis_url: at.redis_url,
    jwt_secret: settings.APP_JWT_SECRET,
    operator_key: settings.APP_OPERATOR_KEY,
    chain_id: Number(settings.APP_CHAIN_ID),
    network: settings.APP_NETWORK,
    deposit_xpub: settings.APP_DEPOSIT_XPUB,
    usdt_contract: settings.APP_USDT_CONTRACT,
    custody_addresses: settings.APP_CUSTODY_ADDRESSES,
    reconcile_requests_per_second: Number(settings.APP_RECONCILE_REQUESTS_PER_SECOND),
    reconcile_requests_per_day: Number(settings.APP_RECONCILE_REQUESTS_PER_DAY),
    services: Object.fromEntries(
      services.flatMap(({ name, ops_port: opsPort }) => {
        const pid = pids[name];
        return pid === undefined ? [] : [[name, { url: http(ports[opsPort]), pid }]];
      }),
    ),
    pids,
    supervisor_pid: process.pid,
    ports,
    logs: folder.logs,
    data: folder.data,
    registry_data: registryFile(folder.data),
  };
}

/** Replaces stack.json in one step; only this user may read it, since it holds secrets. */
export function writeStackFile(folder: Folder, stack: object): void {
  const half = `${folder.stack_file}.${process.pid}`;
  writeFileSync(half, `${JSON.stringify(stack, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(half, folder.stack_file);
}

const SUMMARY: readonly (readonly [label: string, key: string, path: string])[] = [
  ['console', 'explorer_url', '/'],
  ['explorer', 'explorer_url', '/docs'],
  ['deposits', 'deposit_url', '/docs'],
  ['hub', 'hub_url', ''],
  ['hub sockets', 'hub_ws_url', ''],
  ['clt node', 'node_url', '/v1/chain'],
  ['tron', 'tron_url', '/walletsolidity/getnowblock'],
  ['devnet admin', 'devnet_url', ''],
  ['kafka', 'kafka_brokers', ''],
  ['schema registry', 'registry_url', ''],
  ['postgres', 'postgres_analyst_url', ''],
  ['redis', 'redis_url', ''],
];

function readStackFile(folder: Folder): Readonly<Record<string, unknown>> {
  const stack: Readonly<Record<string, unknown>> = JSON.parse(
    readFileSync(folder.stack_file, 'utf8'),
  );
  return stack;
}

/** Whether the stack was started with services. */
export function hasServices(folder: Folder): boolean {
  return Object.keys(Object(readStackFile(folder)['services'])).length > 0;
}

/** The addresses in stack.json as a table for a person, without secrets. */
export function stackSummary(folder: Folder): string[] {
  const stack = readStackFile(folder);
  const isCluster = 'certificate_authority' in stack;
  const rows = SUMMARY.flatMap(([label, key, path]) => {
    const value = stack[key];
    // the passwords of a cluster are secrets, those of a plain stack are known
    const shown = isCluster
      ? String(value)
          .replace(/:[^:@/]*@/, '@')
          .replace(/\?.*/, '')
      : value;
    return typeof value === 'string' ? [[label, `${String(shown)}${path}`] as const] : [];
  });
  const files = [['logs', folder.logs] as const, ['for scripts', folder.stack_file] as const];
  return [...rows, ...files].map(([label, value]) => `  ${label.padEnd(18)}${value}`);
}

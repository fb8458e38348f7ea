import { renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Addresses } from './addresses.ts';
import type { Common } from './choices.ts';
import type { Folder } from './folder.ts';
import type { Ports } from './ports.ts';

/** What `stack.json` tells people and scripts. HTTP addresses have no path; those of services that are not built yet are null. */
export interface StackFile {
  readonly deposit_url: string | null;
  readonly hub_url: string | null;
  readonly hub_ws_url: string | null;
  readonly explorer_url: string | null;
  readonly treasury_url: string | null;
  readonly node_url: string | null;
  readonly tron_url: string | null;
  readonly devnet_url: string | null;
  readonly kafka_brokers: string;
  readonly registry_url: string;
  readonly postgres_url: string;
  readonly postgres_reader_url: string;
  readonly redis_url: string;
  readonly jwt_secret: string;
  readonly chain_id: number;
  readonly network: string;
  /** of TRON, base58 */
  readonly usdt_contract: string;
  /** of TRON, base58, separated by commas */
  readonly custody_addresses: string;
  /** what reconciling may ask TRON's provider, within a second and a day (0: any number) */
  readonly reconcile_requests_per_second: number;
  readonly reconcile_requests_per_day: number;
  readonly pids: Readonly<Record<string, number>>;
  readonly supervisor_pid: number;
  readonly ports: Ports;
  readonly logs: string;
  readonly data: string;
}

function http(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** The contents of stack.json for a stack on this machine. */
export function describeStack(
  folder: Folder,
  ports: Ports,
  at: Addresses,
  common: Common,
  pids: Readonly<Record<string, number>>,
): StackFile {
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
    registry_url: http(ports.registry),
    postgres_url: at.postgres_url,
    postgres_reader_url: at.postgres_reader_url,
    redis_url: at.redis_url,
    jwt_secret: common.jwt_secret,
    chain_id: Number(common.chain_id),
    network: common.network,
    usdt_contract: common.usdt_contract,
    custody_addresses: common.custody_addresses,
    reconcile_requests_per_second: Number(common.reconcile_requests_per_second),
    reconcile_requests_per_day: Number(common.reconcile_requests_per_day),
    pids,
    supervisor_pid: process.pid,
    ports,
    logs: folder.logs,
    data: folder.data,
  };
}

/** Writes stack.json in one step, readable by this user only: it holds secrets. */
export function writeStackFile(folder: Folder, stack: StackFile): void {
  const half = `${folder.stack_file}.${process.pid}`;
  writeFileSync(half, `${JSON.stringify(stack, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(half, folder.stack_file);
}

export function removeStackFile(folder: Folder): void {
  rmSync(folder.stack_file, { force: true });
}

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Folder } from './folder.ts';
import type { StackFile } from './stack-file.ts';

const rows: readonly (readonly [string, keyof StackFile, string])[] = [
  ['explorer', 'explorer_url', '/api/v1/blocks'],
  ['deposits', 'deposit_url', '/docs'],
  ['hub', 'hub_url', ''],
  ['hub sockets', 'hub_ws_url', ''],
  ['clt node', 'node_url', '/v1/chain'],
  ['tron', 'tron_url', '/walletsolidity/getnowblock'],
  ['devnet admin', 'devnet_url', ''],
  ['kafka', 'kafka_brokers', ''],
  ['schema registry', 'registry_url', ''],
  ['postgres', 'postgres_reader_url', ''],
  ['redis', 'redis_url', ''],
];

function line(name: string, value: string): string {
  return `  ${name.padEnd(18)}${value}`;
}

function shortest(path: string): string {
  const from_here = relative(process.cwd(), path);
  return from_here.startsWith('..') ? path : from_here;
}

/** The addresses in this folder's stack.json as a table for a person. */
export function summaryOf(folder: Folder): string[] {
  const stack: unknown = JSON.parse(readFileSync(folder.stack_file, 'utf8'));
  const values = new Map<string, unknown>(Object.entries(Object(stack)));
  const addresses = rows.flatMap(([name, key, path]) => {
    const value = values.get(key);
    return typeof value === 'string' ? [line(name, `${value}${path}`)] : [];
  });
  return [
    ...addresses,
    line('logs', shortest(folder.logs)),
    line('for scripts', shortest(folder.stack_file)),
  ];
}

/** PgBouncer before a Postgres, as its own documentation sets it up for many clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { takePort } from './free-ports.ts';
import { systemProgram } from './system-program.ts';
import { until } from './until.ts';
import { rowsOf } from './database.ts';

export interface PgBouncer {
  /** the same address, through the pooler */
  url(direct: string): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer on 127.0.0.1; the result may say why there is none. */
export async function openPgBouncer(
  direct: string,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer | { readonly missing: string }> {
  const program = await systemProgram(['pgbouncer'], 'pgbouncer');
  if (program === undefined)
    return { missing: 'there is no PgBouncer on this machine: install the package pgbouncer' };
  const { port, release } = await takePort();
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  chmodSync(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users.txt');
  const { hostname, port: behind } = new URL(direct);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    // it refuses to run as root
    ...(process.getuid?.() === 0 ? { user: 'nobody' } : {}),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const databases = `* = host=${hostname} port=${behind}`;
  writeFileSync(file, ['[databases]', databases, '[pgbouncer]', ...lines, ''].join('\n'));
  const names = ['clt_writer', 'clt_reader'];
  writeFileSync(users, names.map((name) => `"${name}" "${name}"\n`).join(''));
  const child = spawn(program, [file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true });
    release();
  };
  const url = (to: string): string => {
    const through = new URL(to);
    through.port = String(port);
    return through.toString();
  };
  const answers = async (): Promise<boolean> =>
    child.exitCode !== null || (await rowsOf(url(direct), 'SELECT 1')).length === 1;
  try {
    await until(answers, 'PgBouncer');
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${await said}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

/** The nginx of this machine with the reference configuration. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { takePort } from './free-ports.ts';
import { systemProgram } from './system-program.ts';
import { until } from './until.ts';

const REFERENCE = new URL('../../infra/nginx/gateways.conf', import.meta.url);

export interface Nginx {
  readonly pid: number;
  /** without a path */
  readonly explorer_url: string;
  readonly hub_url: string;
  stop(): Promise<void>;
}

/** `http://host:port` of the gateways behind nginx. */
export interface Upstreams {
  readonly explorer: string;
  readonly hub: string;
  /** of a client at once; the reference's own unless given */
  readonly connections?: number;
}

/** Starts nginx on 127.0.0.1; the result may say why there is none. */
export async function openNginx(
  upstreams: Upstreams,
): Promise<Nginx | { readonly missing: string }> {
  const program = await systemProgram(['nginx'], 'nginx-light');
  if (program === undefined)
    return { missing: 'there is no nginx on this machine: install the package nginx-light' };
  const { port, release } = await takePort();
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const file = join(folder, 'nginx.conf');
  writeFileSync(join(folder, 'gateways.conf'), reference(folder, port, upstreams));
  writeFileSync(file, mainConfiguration(folder));
  const child = spawn(program, ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
    release();
  };
  const answers = async (): Promise<boolean> => {
    return (
      child.exitCode !== null || (await fetch(`http://127.0.0.1:${port}/elsewhere`)).status === 404
    );
  };
  try {
    await until(answers, 'nginx');
    if (child.exitCode !== null) throw new Error(`nginx ended: ${await said}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    explorer_url: `http://127.0.0.1:${port}`,
    hub_url: `http://localhost:${port}`,
    stop,
  };
}

function reference(
  folder: string,
  port: number,
  { explorer, hub, connections = 1_100 }: Upstreams,
): string {
  let configuration = readFileSync(REFERENCE, 'utf8');
  for (const [there, here] of [
    ['listen 80', `listen 127.0.0.1:${port}`],
    ['/var/cache/nginx/', join(folder, 'cache-')],
    ['limit_conn clients 1100', `limit_conn clients ${connections}`],
    ['explorer.example.org', '127.0.0.1'],
    ['hub.example.org', 'localhost'],
    ['127.0.0.1:17003', new URL(explorer).host],
    ['127.0.0.1:17002', new URL(hub).host],
  ] as const) {
    if (!configuration.includes(there)) throw new Error(`the reference has no ${there}`);
    configuration = configuration.replaceAll(there, here);
  }
  return configuration;
}

/** Its workers run as the user of the test, who owns the folder. */
function mainConfiguration(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return [
    'daemon off;',
    'worker_processes 1;',
    `pid ${join(folder, 'pid')};`,
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'events {}',
    'http {',
    'access_log off;',
    // a bench asks more often on one connection than nginx allows by default
    'keepalive_requests 1000000;',
    // a client that waits for the answer to another would wait for ever
    'proxy_cache_lock_timeout 1h;',
    'proxy_cache_lock_age 1h;',
    // a test may come from any address
    'set_real_ip_from 127.0.0.0/8;',
    'real_ip_header X-Test-Client;',
    ...temporary.map((kind) => `${kind}_temp_path ${join(folder, kind)};`),
    `include ${join(folder, 'gateways.conf')};`,
    '}',
    '',
  ].join('\n');
}

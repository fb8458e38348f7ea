/**
 * An Alertmanager with the configuration of `infra/prometheus/alertmanager.yml`, whose receivers
 * are webhooks of this process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { parse, stringify } from 'yaml';
import { takePort } from './free-ports.ts';
import { systemProgram } from './system-program.ts';
import { until } from './until.ts';

const CONFIG = new URL('../../infra/prometheus/alertmanager.yml', import.meta.url);

/** One call of a receiver: all alerts of one name. */
export interface Notification {
  readonly receiver: string;
  readonly alert: string;
  readonly status: 'firing' | 'resolved';
  /** `performance.now()` */
  readonly at: number;
}

export interface Alertmanager {
  readonly port: number;
  /** in the order in which they arrived */
  readonly notifications: readonly Notification[];
  stop(): Promise<void>;
}

/** A program of the operating system that listens on a port of 127.0.0.1. */
export interface Running {
  stop(): Promise<void>;
}

/** Starts a program that ends with this process; `ready`: a URL that answers 200 once it is. */
export async function runProgram(
  file: string,
  args: readonly string[],
  ready: string,
): Promise<Running> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async (): Promise<void> => {
    process.off('exit', kill);
    kill();
    await ended;
  };
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${file} ended: ${await said}`);
    return (await fetch(ready).catch(() => undefined))?.ok === true;
  }, `${file} to answer`);
  return { stop };
}

/** A duration of Prometheus, such as 30s or 2m, divided; at least a second. */
export function faster(duration: string, factor: number): string {
  const [, count = '', unit = ''] = /^([0-9]+)([smhd])$/.exec(duration) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit];
  if (seconds === undefined) throw new Error(`${duration} is no duration: write it as 30s or 2m`);
  return `${Math.max(1, Math.round((Number(count) * seconds) / factor))}s`;
}

/** `factor`: how much shorter its times are; the result may say why there is none. */
export async function openAlertmanager(
  factor: number,
): Promise<Alertmanager | { readonly missing: string }> {
  const program = await systemProgram(
    ['alertmanager', 'prometheus-alertmanager'],
    'prometheus-alertmanager',
  );
  if (program === undefined)
    return {
      missing:
        'there is no Alertmanager on this machine: install the package prometheus-alertmanager',
    };
  const notifications: Notification[] = [];
  const receive = async (request: IncomingMessage): Promise<void> => {
    const body: {
      readonly receiver: string;
      readonly status: Notification['status'];
      readonly groupLabels: { readonly alertname: string };
    } = Object(await json(request));
    const { receiver, status, groupLabels } = body;
    notifications.push({ receiver, alert: groupLabels.alertname, status, at: performance.now() });
  };
  const receiving = createServer(
    (request, response) => void receive(request).then(() => response.end()),
  );
  await new Promise<void>((resolve) => receiving.listen(0, '127.0.0.1', resolve));
  const address = Object(receiving.address());
  const config: {
    readonly route: Record<string, string>;
    readonly receivers: readonly { readonly name: string }[];
    readonly inhibit_rules: unknown;
  } = parse(readFileSync(CONFIG, 'utf8'));
  const { route, receivers, inhibit_rules } = config;
  for (const time of ['group_wait', 'group_interval', 'repeat_interval'])
    route[time] = faster(route[time] ?? '', factor);
  const folder = mkdtempSync(join(tmpdir(), 'alertmanager-'));
  const file = join(folder, 'alertmanager.yml');
  const hooked = receivers.map(({ name }) => ({
    name,
    webhook_configs: [{ url: `http://127.0.0.1:${address.port}/` }],
  }));
  writeFileSync(file, stringify({ route, receivers: hooked, inhibit_rules }));
  const { port, release } = await takePort();
  const at = `127.0.0.1:${port}`;
  const args = [
    `--config.file=${file}`,
    `--storage.path=${folder}`,
    `--web.listen-address=${at}`,
    '--cluster.listen-address=',
  ];
  const running = await runProgram(program, args, `http://${at}/-/ready`);
  return {
    port,
    notifications,
    async stop() {
      await running.stop();
      receiving.closeAllConnections();
      receiving.close();
      release();
      rmSync(folder, { recursive: true });
    },
  };
}

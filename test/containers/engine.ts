/** A Docker engine for tests: one that answers, or one that root starts for the run. */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { terminalReport } from '../../infra/local/cli/report.ts';
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { childFault, spawnChild } from '../../infra/local/process/child.ts';
import { acquirePidFile } from '../../infra/local/process/pid-lock.ts';
import { stopOrphans } from '../../infra/local/stack/boot.ts';
import { checkout, folderAt, openFolder } from '../../infra/local/stack/folder.ts';
import { buildStandIns, STAND_IN_LABEL } from '../../infra/compose/stand-ins/build.ts';
import type { Ended } from '../services/ops/operator.ts';
import { engineAnswers, engineSocket } from '../support/docker-engine.ts';
import { systemProgram } from '../support/system-program.ts';
import { until } from '../support/until.ts';

/** Programs of an engine that root starts, with the packages of Debian that have them. */
const PROGRAMS = [
  ['dockerd', 'docker.io'],
  ['docker', 'docker.io'],
  ['docker-compose', 'docker-compose'],
  ['iptables-save', 'iptables'],
  ['debootstrap', 'debootstrap'],
] as const;
/** The project's image of a run, apart from one that the user of the engine has. */
export const IMAGE = 'clt-test';
const STOP_MS = 120_000;
const OUTPUT_MAX = 2 ** 26;

/** The engine at a socket of this machine, by Docker's programs and by its own interface. */
export class Engine {
  readonly socket: string;
  /** Its images are made here, since it can pull none. */
  readonly has_stand_ins: boolean;
  readonly #env: NodeJS.ProcessEnv;

  constructor({ socket, has_stand_ins }: Pick<Engine, 'socket' | 'has_stand_ins'>) {
    this.socket = socket;
    this.has_stand_ins = has_stand_ins;
    this.#env = { ...process.env, DOCKER_HOST: `unix://${socket}` };
  }

  /** Builds the images that the project's one needs, where they cannot be pulled. */
  async buildOthers(): Promise<void> {
    if (!this.has_stand_ins) return;
    await buildStandIns(this.#env, terminalReport(process.stdout), new AbortController().signal);
  }

  /** Builds the image of the checkout in a folder. */
  async build(image: string, folder: string): Promise<void> {
    const network = this.has_stand_ins ? ['--network', 'host'] : [];
    const dockerfile = ['--file', join(folder, 'infra/Dockerfile')];
    await this.run('docker', ['build', ...network, '--tag', image, ...dockerfile, folder]);
  }

  /** The answer of the engine's interface to a GET. */
  async ask<Answer>(path: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    get({ socketPath: this.socket, path }, resolve).once('error', reject);
    const response = await promise;
    const body = await text(response);
    if (response.statusCode !== 200)
      throw new Error(`${path} of the engine: ${response.statusCode} ${body}; read its log`);
    const answer: Answer = JSON.parse(body);
    return answer;
  }

  /** Runs a program in a checkout that asks this engine, whatever its exit code. */
  end(
    program: string,
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
    { cwd = checkout, input = '' }: { readonly cwd?: string; readonly input?: string } = {},
  ): Promise<Ended> {
    const options = {
      cwd,
      env: { ...this.#env, ...settings },
      maxBuffer: OUTPUT_MAX,
    };
    return new Promise((resolve) => {
      const { stdin } = execFile(program, args, options, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : -1;
        resolve({ code: error === null ? 0 : code, stdout, stderr });
      });
      // a program that ends before it has read this says why by its code
      stdin?.on('error', () => undefined).end(input);
    });
  }

  /** As `end`; rejects unless the program succeeds. */
  async run(program: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.end(program, args);
    if (code === 0) return stdout;
    const last = (stdout + stderr).slice(-4_000);
    throw new Error(`${program} ${args.join(' ')} exited with ${code}; read its output:\n${last}`);
  }
}

/** An engine for a run. */
export interface OpenEngine {
  readonly engine: Engine;
  /** Ends the daemon, where it was started here, and takes back what that left in the kernel. */
  readonly stop: () => Promise<void>;
}

/** Whether the images of an engine are stand-ins, as their label says. */
async function hasStandIns(socket: string): Promise<boolean> {
  const asked = new Engine({ socket, has_stand_ins: false });
  const filters = encodeURIComponent(JSON.stringify({ label: [STAND_IN_LABEL] }));
  return (await asked.ask<readonly unknown[]>(`/images/json?filters=${filters}`)).length > 0;
}

async function hasNoClient(): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  execFile('docker', ['--version'], (error) => resolve(error !== null));
  return await promise;
}

/** Tables of the kernel's filter of packets in which Docker writes, as they are when new. */
const TABLES = {
  filter: '*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n',
  nat: '*nat\nCOMMIT\n',
};

/** Takes note of the filter of packets. The result puts it back. */
function keepFilter(): () => void {
  const kept = execFileSync('iptables-save', { encoding: 'utf8' });
  // another engine has its rules there too, which have changed since
  if (kept.includes('\n:DOCKER ')) return () => undefined;
  const unset = Object.entries(TABLES).filter(([name]) => !kept.includes(`*${name}\n`));
  const input = kept + unset.map(([, table]) => table).join('');
  return () => void execFileSync('iptables-restore', { input });
}

/** Takes away what the daemon has mounted in its folder and left. */
function unmountAll(root: string): void {
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((at) => at.startsWith(`${root}/`));
  // what is mounted within another comes later
  for (const at of mounted.toReversed()) execFileSync('umount', [at]);
}

/** An engine for this run, or why there is none. Its images stay in the cache for the next run. */
export async function openEngine(): Promise<OpenEngine | { readonly missing: string }> {
  const answering = await engineSocket();
  if (answering !== undefined) {
    if (await hasNoClient())
      return { missing: 'a Docker engine answers, but there is no `docker`: install its client' };
    const has_stand_ins = await hasStandIns(answering);
    return {
      engine: new Engine({ socket: answering, has_stand_ins }),
      stop: () => Promise.resolve(),
    };
  }
  if (process.getuid?.() !== 0)
    return { missing: 'no Docker engine answers, and only root can start one: start Docker' };
  for (const [program, debianPackage] of PROGRAMS)
    if ((await systemProgram([program], debianPackage)) === undefined)
      return {
        missing: `there is no ${program} on this machine: install the package ${debianPackage}`,
      };
  const folder = folderAt(join(cacheFolder(process.env), 'engine'));
  const holder = await acquirePidFile(folder.supervisor_file);
  if (holder !== undefined)
    return { missing: `process ${holder.pid} has the engine: run this again when it has ended` };
  await stopOrphans(folder);
  openFolder(folder);
  const restoreFilter = keepFilter();
  const release = (): void => {
    restoreFilter();
    unmountAll(folder.root);
    rmSync(folder.supervisor_file);
  };
  // apart from the socket of Docker's clients, by which other tests would find it
  const socket = join(folder.root, 'docker.sock');
  const daemon = await spawnChild(
    'dockerd',
    {
      file: 'dockerd',
      args: [
        `--host=unix://${socket}`,
        `--data-root=${folder.data}`,
        `--exec-root=${join(folder.root, 'exec')}`,
        `--pidfile=${join(folder.root, 'dockerd.pid')}`,
        '--bridge=none',
      ],
      env: { PATH: process.env['PATH'] ?? '' },
      cwd: folder.root,
    },
    folder,
  );
  const answers = async (): Promise<boolean> =>
    daemon.exited !== undefined || (await engineAnswers(socket));
  await until(answers, 'the Docker engine to answer');
  if (daemon.exited === undefined)
    return {
      engine: new Engine({ socket, has_stand_ins: true }),
      stop: async () => {
        await daemon.stop(STOP_MS);
        release();
      },
    };
  release();
  return { missing: childFault(daemon, 'did not start, so there is no Docker engine') };
}

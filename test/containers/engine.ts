/** A Docker engine for tests: one that answers, or one that root starts for the run. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { terminalReport } from '../../infra/local/cli/report.ts';
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { childFault, spawnChild, type Child } from '../../infra/local/process/child.ts';
import { acquirePidFile } from '../../infra/local/process/pid-lock.ts';
import { stopOrphans } from '../../infra/local/stack/boot.ts';
import { checkout, folderAt, openFolder } from '../../infra/local/stack/folder.ts';
import { buildStandIns } from '../../infra/compose/stand-ins/build.ts';
import type { Ended } from '../services/ops/operator.ts';
import { engineAnswers, engineSocket } from '../support/docker-engine.ts';
import { systemProgram } from '../support/system-program.ts';
import { until } from '../support/until.ts';

/** Programs of an engine that root starts, with the packages of Debian that have them. */
const PROGRAMS = [
  ['dockerd', 'docker.io'],
  ['docker', 'docker.io'],
  ['docker-compose', 'docker-compose'],
  ['debootstrap', 'debootstrap'],
] as const;
const STOP_MS = 120_000;
const OUTPUT_MAX = 2 ** 26;

export class Engine {
  readonly #env: NodeJS.ProcessEnv;
  /** the daemon of an engine that was started here */
  readonly #daemon: Child | undefined;
  readonly #release: () => void;

  constructor(socket: string, daemon?: Child, release = (): void => undefined) {
    this.#env = { ...process.env, DOCKER_HOST: `unix://${socket}` };
    this.#daemon = daemon;
    this.#release = release;
  }

  /** An engine that was started here may pull no images, so it has stand-ins for them. */
  get has_stand_ins(): boolean {
    return this.#daemon !== undefined;
  }

  /** Builds the image of the project, and those that it needs where they cannot be pulled. */
  async build(): Promise<void> {
    const report = terminalReport(process.stdout);
    if (this.has_stand_ins) await buildStandIns(this.#env, report, new AbortController().signal);
    const network = this.has_stand_ins ? ['--network', 'host'] : [];
    const dockerfile = ['--file', 'infra/Dockerfile'];
    await this.run('docker', [
      'build',
      ...network,
      '--tag',
      'clt-token-system',
      ...dockerfile,
      '.',
    ]);
  }

  /** Runs a program of the checkout that asks this engine, whatever its exit code. */
  end(
    program: string,
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Ended> {
    const options = {
      cwd: checkout,
      env: { ...this.#env, ...settings },
      maxBuffer: OUTPUT_MAX,
    };
    return new Promise((resolve) => {
      execFile(program, args, options, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : -1;
        resolve({ code: error === null ? 0 : code, stdout, stderr });
      });
    });
  }

  /** As `end`; rejects unless the program succeeds. */
  async run(program: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.end(program, args);
    if (code === 0) return stdout;
    const last = (stdout + stderr).slice(-4_000);
    throw new Error(`${program} ${args.join(' ')} exited with ${code}; read its output:\n${last}`);
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop(STOP_MS);
    this.#release();
  }
}

/** An engine for this run, or why there is none. Its images stay in the cache for the next run. */
export async function openEngine(): Promise<Engine | { readonly missing: string }> {
  const answering = await engineSocket();
  if (answering !== undefined) return new Engine(answering);
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
  const release = (): void => rmSync(folder.supervisor_file);
  await stopOrphans(folder);
  openFolder(folder);
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
  if (daemon.exited === undefined) return new Engine(socket, daemon, release);
  release();
  return { missing: childFault(daemon, 'did not start, so there is no Docker engine') };
}

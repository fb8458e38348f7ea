/** The system of docker-compose.yml on an engine, on free ports and with secrets of its own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, type TestContext } from 'vitest';
import { developmentSecrets, makeSecrets } from '../../infra/compose/secrets.ts';
import { seconds, terminalReport } from '../../infra/local/cli/report.ts';
import { checkout } from '../../infra/local/stack/folder.ts';
import type { Ended } from '../services/ops/operator.ts';
import { parseCompose, textOf, type ComposeFile } from '../support/compose.ts';
import { takePort } from '../support/free-ports.ts';
import { until } from '../support/until.ts';
import { Engine, IMAGE, openEngine } from './engine.ts';

const PROJECT = 'clt-test';
/** The commit that the image of a run names. */
export const REVISION = 'a commit of a test';
/** A part that publishes a port. */
export type Published =
  | 'explorer'
  | 'hub'
  | 'deposit'
  | 'devnet'
  | 'node'
  | 'tron'
  | 'prometheus'
  | 'alertmanager'
  | 'grafana';

/** Files of compose, and containers that stay away, where images are stand-ins. */
const STAND_INS = { files: ['infra/compose/stand-ins/compose.yml'], without: ['grafana'] };
const OFFICIAL = { files: [], without: [] };

/** Where a system is, as plain data: each test file has its own `Composed` of it. */
export interface Place {
  readonly socket: string;
  readonly has_stand_ins: boolean;
  /** compose is a command of `docker` */
  readonly plugin: boolean;
  readonly ports: Readonly<Record<Published, number>>;
  /** with its secrets, and with the files of compose that a run makes */
  readonly folder: string;
  /** the checkout of its version */
  readonly checkout: string;
  /** built from that */
  readonly image: string;
}

/** A container, as the engine describes it. */
export interface Inspected {
  readonly Id: string;
  /** its id */
  readonly Image: string;
  readonly Name: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Pid: number;
    readonly Status: string;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Health?: {
      readonly Status: string;
      readonly Log: readonly { readonly Start: string; readonly End: string }[];
    };
  };
  readonly Config: { readonly Env: readonly string[]; readonly Cmd: readonly string[] | null };
  readonly Mounts: readonly { readonly Destination: string; readonly RW: boolean }[];
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>>;
    readonly Ports: Readonly<
      Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>
    >;
  };
}

export class Composed {
  readonly engine: Engine;
  readonly ports: Place['ports'];
  /** for what a run writes */
  readonly folder: string;
  readonly secrets: string;
  readonly file: ComposeFile;
  /** containers that stay, by their names in the file */
  readonly servers: readonly string[];
  readonly #place: Place;
  /** the command of compose, with its first arguments */
  readonly #command: readonly string[];

  constructor(place: Place) {
    const { files, without } = place.has_stand_ins ? STAND_INS : OFFICIAL;
    this.#place = place;
    this.file = parseCompose(readFileSync(join(place.checkout, 'docker-compose.yml'), 'utf8'));
    this.engine = new Engine(place);
    this.ports = place.ports;
    this.folder = place.folder;
    this.secrets = secretsOf(place.folder);
    this.servers = Object.entries(this.file.services)
      .filter(([, { restart, profiles }]) => restart !== undefined && profiles === undefined)
      .map(([name]) => name)
      .filter((name) => !without.includes(name));
    this.#command = [
      ...(place.plugin ? ['docker', 'compose'] : ['docker-compose']),
      ...['docker-compose.yml', ...files, this.#imageFile()].map((file) => `--file=${file}`),
    ];
  }

  /** The same system of the version in another checkout. */
  version(at: Pick<Place, 'checkout' | 'image'>): Composed {
    return new Composed({ ...this.#place, ...at });
  }

  /** A file of compose that names the image of this version. */
  #imageFile(): string {
    const { image, folder } = this.#place;
    const built = Object.entries(this.file.services).filter(([, { build }]) => build !== undefined);
    const services = Object.fromEntries(built.map(([name]) => [name, { image }]));
    const path = join(folder, `${image}.json`);
    writeFileSync(path, JSON.stringify({ services }));
    return path;
  }

  url(name: Published, path: string): string {
    return `http://127.0.0.1:${this.ports[name]}${path}`;
  }

  /** The answer of a published port. Rejects unless it is 2xx. */
  async json<Answer>(name: Published, path: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(this.url(name, path), init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} of ${name}: ${response.status} ${text}`);
    const answer: Answer = JSON.parse(text);
    return answer;
  }

  /** Builds the image. Resolves when each container that has a health check is healthy. */
  async up(): Promise<void> {
    await this.engine.build(this.#place.image, this.#place.checkout);
    const { code, stdout, stderr } = await this.compose([...readmeWords(), '--detach']);
    if (code !== 0) throw new Error(`compose up exited with ${code}: ${stdout}${stderr}`);
    await this.healthy();
  }

  async healthy(): Promise<void> {
    await until(
      async () => {
        const running = await this.containers();
        return this.servers.filter((name) => running.get(name)?.State.Health?.Status !== 'healthy');
      },
      'all containers to be healthy',
      (others) => others.length === 0,
    );
  }

  /** Runs Node in another container of a service. */
  node(service: string, ...args: readonly string[]): Promise<Ended> {
    return this.compose(['run', '--rm', '--no-deps', '-T', service, ...args]);
  }

  /** All containers of the project, also those that have ended, by their names in the file. */
  async containers(project = PROJECT): Promise<ReadonlyMap<string, Inspected>> {
    const labels = [`com.docker.compose.project=${project}`, 'com.docker.compose.oneoff=False'];
    const filters = encodeURIComponent(JSON.stringify({ label: labels }));
    interface Listed {
      readonly Id: string;
      readonly Labels: Readonly<Record<string, string>>;
    }
    const listed = await this.engine.ask<readonly Listed[]>(
      `/containers/json?all=1&filters=${filters}`,
    );
    const inspected = listed.map(
      async ({ Id, Labels }) =>
        [
          Labels['com.docker.compose.service'] ?? '',
          await this.engine.ask<Inspected>(`/containers/${Id}/json`),
        ] as const,
    );
    return new Map(await Promise.all(inspected));
  }

  async container(name: string): Promise<Inspected> {
    const found = (await this.containers()).get(name);
    if (found === undefined) throw new Error(`${name} has no container: look at docker ps -a`);
    return found;
  }

  /** A command of the operator, in a container of its own. */
  ops(...args: readonly string[]): Promise<Ended> {
    return this.compose(['run', '--rm', '-T', 'ops', ...args]);
  }

  /** Runs a program in a container that runs. It reads `input`. */
  async exec(
    name: string,
    args: readonly string[],
    { user = '', input = '' }: { readonly user?: string; readonly input?: string } = {},
  ): Promise<Ended> {
    const { Id } = await this.container(name);
    const account = user === '' ? [] : ['--user', user];
    return await this.engine.end('docker', ['exec', '-i', ...account, Id, ...args], {}, { input });
  }

  /**
   * Sends a signal to the first process of each, from outside of it, as the kernel does: `docker
   * kill` would count as a stop, after which the engine starts nothing again.
   */
  async signal(names: readonly string[], signal: NodeJS.Signals): Promise<void> {
    const running = await this.containers();
    const pids = names.map((name) => String(running.get(name)?.State.Pid));
    const script = `for (const pid of process.argv.slice(1)) process.kill(+pid, '${signal}')`;
    const confined = ['--rm', '--pid=host', '--network=none', '--user=0:0'];
    await this.engine.run('docker', ['run', ...confined, IMAGE, '--eval', script, ...pids]);
  }

  /** Removes containers, networks and volumes. */
  async wipe(project = PROJECT): Promise<void> {
    await this.compose(['down', '--volumes', '--remove-orphans'], {}, project);
  }

  /** A command of compose, whatever its exit code. */
  compose(
    args: readonly string[],
    extra: Readonly<Record<string, string>> = {},
    project = PROJECT,
  ): Promise<Ended> {
    const [program = '', ...first] = this.#command;
    const settings: Record<string, string> = {
      APP_REVISION: REVISION,
      APP_SECRETS_DIR: this.secrets,
      APP_CONSOLE_URL: this.url('explorer', ''),
      APP_CONSOLE_HUB_URL: this.url('hub', ''),
      APP_CONSOLE_DEPOSITS_URL: this.url('deposit', ''),
      // a run beside others has no room for that of a server
      APP_POSTGRES_SHARED_BUFFERS: '128MB',
    };
    for (const [name, port] of Object.entries(this.ports))
      settings[`APP_${name.toUpperCase()}_PORT`] = String(port);
    Object.assign(settings, extra);
    const named = [...first, `--project-name=${project}`, ...args];
    return this.engine.end(program, named, settings, { cwd: this.#place.checkout });
  }
}

/** The words after `docker compose` in the README's block of commands. */
function readmeWords(): readonly string[] {
  const line = /^docker compose ([^#\n]+?)(?: +#.*)?$/m.exec(textOf('README.md'))?.[1];
  if (line === undefined)
    throw new Error('README.md has no command docker compose: write it there');
  return line.split(' ');
}

function secretsOf(folder: string): string {
  return join(folder, 'secrets');
}

/** Secrets of the page's command, and those of the devnet that only a person can make. */
function makeOwnSecrets(folder: string): void {
  for (const name of makeSecrets(folder)) {
    const known = developmentSecrets[name];
    writeFileSync(join(folder, name), known === '' ? `${name} of a test` : (known ?? ''));
  }
}

/** A system for a run. */
export interface OpenComposed {
  readonly place: Place;
  /** Leaves nothing but images. */
  readonly close: () => Promise<void>;
}

/** The images are built and all containers healthy; or why there is no engine. */
export async function openComposed(): Promise<OpenComposed | { readonly missing: string }> {
  const opened = await openEngine();
  if ('missing' in opened) return opened;
  const { engine, stop } = opened;
  const releases: (() => void)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-composed-'));
  makeOwnSecrets(secretsOf(folder));
  const port = async (): Promise<number> => {
    const { port: free, release } = await takePort();
    releases.push(release);
    return free;
  };
  const ports = {
    explorer: await port(),
    hub: await port(),
    deposit: await port(),
    devnet: await port(),
    node: await port(),
    tron: await port(),
    prometheus: await port(),
    alertmanager: await port(),
    grafana: await port(),
  };
  const { socket, has_stand_ins } = engine;
  const plugin = (await engine.end('docker', ['compose', 'version'])).code === 0;
  const place = { socket, has_stand_ins, plugin, ports, folder, checkout, image: IMAGE };
  const system = new Composed(place);
  const close = async (): Promise<void> => {
    await system.wipe();
    await stop();
    for (const release of releases) release();
    rmSync(folder, { recursive: true });
  };
  try {
    await engine.buildOthers();
    await system.wipe();
    const begun = performance.now();
    await system.up();
    const report = terminalReport(process.stdout);
    report.line(`  healthy  built and started in ${seconds(performance.now() - begun)}`);
  } catch (error) {
    await close();
    throw error;
  }
  return { place, close };
}

/** The system of the run. Skips the test where there is none. */
export function composed({ skip }: TestContext): Composed {
  const place = inject('composed');
  if ('missing' in place) return skip(place.missing);
  return new Composed(place);
}

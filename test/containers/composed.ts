/** The system of docker-compose.yml on an engine of the run, on free ports. */
import type { Ended } from '../services/ops/operator.ts';
import { parseCompose, textOf } from '../support/compose.ts';
import { takePort } from '../support/free-ports.ts';
import { until } from '../support/until.ts';
import { openEngine, type Engine } from './engine.ts';

const PROJECT = 'clt-test';
const PUBLISHED = [
  'explorer',
  'hub',
  'deposit',
  'devnet',
  'node',
  'tron',
  'prometheus',
  'alertmanager',
  'grafana',
] as const;
type Published = (typeof PUBLISHED)[number];

/** Files of compose, and containers that stay away, where images are stand-ins. */
const STAND_INS = { files: ['infra/compose/stand-ins/compose.yml'], without: ['grafana'] };
const OFFICIAL = { files: [], without: [] };

export class Composed {
  readonly #engine: Engine;
  /** the command of compose, with its first arguments */
  readonly #command: readonly string[];
  readonly #without: readonly string[];
  readonly #ports: ReadonlyMap<Published, number>;
  readonly #release: () => void;

  /** `plugin`: compose is a command of `docker`; `release` gives the ports back. */
  constructor(
    engine: Engine,
    plugin: boolean,
    ports: ReadonlyMap<Published, number>,
    release: () => void,
  ) {
    const { files, without } = engine.has_stand_ins ? STAND_INS : OFFICIAL;
    this.#engine = engine;
    this.#command = [
      ...(plugin ? ['docker', 'compose'] : ['docker-compose']),
      ...['docker-compose.yml', ...files].map((file) => `--file=${file}`),
      `--project-name=${PROJECT}`,
    ];
    this.#without = without;
    this.#ports = ports;
    this.#release = release;
  }

  url(name: Published, path: string): string {
    return `http://127.0.0.1:${this.#ports.get(name)}${path}`;
  }

  /** The answer of a published port. Rejects unless it is 2xx. */
  async json<Answer>(name: Published, path: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(this.url(name, path), init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} of ${name}: ${response.status} ${text}`);
    const answer: Answer = JSON.parse(text);
    return answer;
  }

  /** Resolves when each container that has a health check is healthy. */
  async up(): Promise<void> {
    await this.#run('up', '--detach', '--no-build');
    const file = parseCompose(textOf('docker-compose.yml'));
    const expected = Object.keys(file.services).filter((name) => {
      const { healthcheck, profiles } = file.services[name] ?? {};
      return healthcheck !== undefined && profiles === undefined && !this.#without.includes(name);
    });
    await until(
      async () => {
        const healthy = await this.#healthy();
        return expected.filter((name) => !healthy.includes(name));
      },
      'all containers to be healthy',
      (others) => others.length === 0,
    );
  }

  /** Runs a container that ends, after those that it needs. Rejects unless it succeeds. */
  async settle(name: string): Promise<void> {
    await this.#run('run', '--rm', '-T', name);
  }

  /** Runs Node in another container of a service, without those that it needs. */
  node(service: string, ...args: readonly string[]): Promise<Ended> {
    return this.#end('run', '--rm', '--no-deps', '-T', service, ...args);
  }

  /** Removes containers and networks; volumes stay. */
  async down(): Promise<void> {
    await this.#run('down');
  }

  /** A command of the operator, in a container of its own. */
  ops(...args: readonly string[]): Promise<Ended> {
    return this.#end('run', '--rm', '-T', 'ops', ...args);
  }

  /** Removes containers, networks and volumes. */
  async wipe(): Promise<void> {
    await this.#run('down', '--volumes', '--remove-orphans');
  }

  /** Leaves nothing but images. */
  async close(): Promise<void> {
    await this.wipe();
    await this.#engine.stop();
    this.#release();
  }

  /** Names of containers that are healthy. */
  async #healthy(): Promise<readonly string[]> {
    const filters = [`label=com.docker.compose.project=${PROJECT}`, 'health=healthy'];
    const format = '{{.Label "com.docker.compose.service"}}';
    const args = filters.flatMap((filter) => ['--filter', filter]);
    return (await this.#engine.run('docker', ['ps', ...args, '--format', format])).split('\n');
  }

  #end(...args: readonly string[]): Promise<Ended> {
    const [program = '', ...first] = this.#command;
    const settings = Object.fromEntries(
      [...this.#ports].map(([name, port]) => [`APP_${name.toUpperCase()}_PORT`, String(port)]),
    );
    return this.#engine.end(program, [...first, ...args], settings);
  }

  /** As `#end`; rejects unless it succeeds. */
  async #run(...args: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.#end(...args);
    if (code === 0) return;
    const last = (stdout + stderr).slice(-4_000);
    throw new Error(`compose ${args.join(' ')} exited with ${code}; read its output:\n${last}`);
  }
}

/** The images are built, and nothing of an earlier run is left; or why there is no engine. */
export async function openComposed(): Promise<Composed | { readonly missing: string }> {
  const engine = await openEngine();
  if ('missing' in engine) return engine;
  await engine.build();
  const ports = new Map<Published, number>();
  const releases: (() => void)[] = [];
  for (const name of PUBLISHED) {
    const { port, release } = await takePort();
    ports.set(name, port);
    releases.push(release);
  }
  const plugin = (await engine.end('docker', ['compose', 'version'])).code === 0;
  const composed = new Composed(engine, plugin, ports, () => {
    for (const release of releases) release();
  });
  await composed.wipe();
  return composed;
}

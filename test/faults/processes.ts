/** The services of a fault run by role: a killed one is restarted at once, as by a supervisor. */
import { isDeepStrictEqual } from 'node:util';
import type { Exit } from '../../infra/local/process/child.ts';
import type { ServiceHandle, Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const LAST_LINES = 12;

type Settings = Readonly<Record<string, string>>;

export class Processes {
  readonly #stack: Pick<Stack, 'spawnService'>;
  /** of each service by its name */
  readonly #settings: Readonly<Record<string, Settings>>;
  readonly #running = new Map<string, ServiceHandle>();
  readonly #frozen = new Set<string>();
  /** those that nobody has told to end */
  readonly #wanted = new Set<ServiceHandle>();
  readonly #broken = Promise.withResolvers<never>();

  constructor(stack: Pick<Stack, 'spawnService'>, settings: Readonly<Record<string, Settings>>) {
    this.#stack = stack;
    this.#settings = settings;
    this.#broken.promise.catch(() => undefined);
  }

  /** As the promise does, but rejects as soon as a process has ended by itself. */
  whileAllRun<Result>(promise: Promise<Result>): Promise<Result> {
    return Promise.race([promise, this.#broken.promise]);
  }

  /** `slot` is the service's name, with `/2` behind it for a second one. */
  async start(slot: string): Promise<ServiceHandle> {
    const [name = ''] = slot.split('/');
    const service = await this.#stack.spawnService(name, this.#settings[name]);
    this.#running.set(slot, service);
    this.#wanted.add(service);
    void this.#mind(slot, service);
    return service;
  }

  async #mind(slot: string, service: ServiceHandle): Promise<void> {
    const exit = await service.exit;
    if (this.#wanted.has(service))
      this.#broken.reject(new Error(`${slot} ended by itself with ${JSON.stringify(exit)}`));
  }

  at(slot: string): ServiceHandle {
    const service = this.#running.get(slot);
    if (service === undefined) throw new Error(`nothing was started as ${slot}`);
    return service;
  }

  /** SIGKILL, and a new one in its place; gives the time of its start (`performance.now()`). */
  async kill(slot: string): Promise<number> {
    await this.end(slot);
    const started = performance.now();
    await this.start(slot);
    return started;
  }

  /** SIGKILL, until somebody starts it again. */
  async end(slot: string): Promise<void> {
    this.#wanted.delete(this.at(slot));
    await this.at(slot).kill('SIGKILL');
    this.#frozen.delete(slot);
  }

  /** SIGSTOP: it hears and says nothing, and holds what it holds. */
  async freeze(slot: string): Promise<void> {
    await this.at(slot).kill('SIGSTOP');
    this.#frozen.add(slot);
  }

  /** Those of this name that were started. */
  slotsOf(name: string): readonly string[] {
    return [...this.#running.keys()].filter((slot) => slot.split('/')[0] === name);
  }

  isFrozen(slot: string): boolean {
    return this.#frozen.has(slot);
  }

  /** Continues all frozen processes. */
  async thaw(): Promise<void> {
    for (const slot of this.#frozen) await this.at(slot).kill('SIGCONT');
    this.#frozen.clear();
  }

  /** Ends them in order with SIGTERM; gives those that did not end as one that was told to. */
  async drain(slots: readonly string[]): Promise<readonly string[]> {
    const exits = await Promise.all(
      slots.map(async (slot): Promise<readonly [string, Exit]> => {
        const service = this.at(slot);
        // before it has read its own modules it knows of no signal
        await until(
          async () => service.log().includes('"msg":"listening"'),
          `${slot} to have begun`,
        );
        this.#wanted.delete(service);
        await service.kill('SIGTERM');
        return [slot, await service.waitExit()];
      }),
    );
    return exits.flatMap(([slot, exit]) =>
      isDeepStrictEqual(exit, { code: 0, signal: null })
        ? []
        : [`${slot}, told to stop, ended with ${JSON.stringify(exit)}`],
    );
  }

  lastLines(): string {
    return [...this.#running]
      .map(
        ([slot, service]) =>
          `${slot}:\n${service.log().split('\n').filter(isTelling).slice(-LAST_LINES).join('\n')}`,
      )
      .join('\n');
  }
}

/** Nothing of what a process logs at each request. */
function isTelling(line: string): boolean {
  return !/"level":"(trace|debug)"/.test(line);
}

/** The sum of a figure of a service, over all its labels unless the value of one is named. */
export async function figureOf(
  { ops_url }: Pick<ServiceHandle, 'ops_url'>,
  metric: string,
  label?: string,
): Promise<number> {
  const text = await (await fetch(`${ops_url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .filter((line) => label === undefined || line.includes(`"${label}"`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

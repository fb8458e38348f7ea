/** The memory of each process of a stack, sampled over its lives. */
import { services } from '../../infra/services/services.ts';
import { growthOf, type Growth, type Sample } from '../bench/memory-growth.ts';
import { residentMemory, unsharedMemory } from '../bench/process-figures.ts';
import type { BenchReport } from '../bench/report.ts';
import type { Stack } from '../support/stack.ts';
import type { Processes } from './processes.ts';

const GOAL = '<= 1.2';
const SERVERS = ['kafka', 'postgres', 'redis', 'registry'] as const;

interface Life {
  readonly pid: number;
  /** `performance.now()` */
  readonly since: number;
  readonly samples: Sample[];
}

export class MemoryLives {
  readonly #stack: Stack;
  readonly #processes: Processes;
  /** by process, in the order of its starts */
  readonly #lives = new Map<string, Life[]>();

  constructor(stack: Stack, processes: Processes) {
    this.#stack = stack;
    this.#processes = processes;
  }

  /** All connections of Postgres count together, without what they share. */
  sample(): void {
    for (const { name } of services) this.#take(name, this.#processes.at(name).pid, residentMemory);
    for (const name of SERVERS) {
      const { pid } = this.#stack.servers[name];
      this.#take(name, pid, name === 'postgres' ? unsharedMemory : residentMemory);
    }
  }

  #take(name: string, pid: number | undefined, memoryOf: (pid: number) => number): void {
    // away, or in a container
    if (pid === undefined) return;
    let mib: number;
    try {
      mib = memoryOf(pid);
    } catch {
      // killed a moment ago
      return;
    }
    const now = performance.now();
    const lives = this.#lives.get(name) ?? [];
    this.#lives.set(name, lives);
    if (lives.at(-1)?.pid !== pid) lives.push({ pid, since: now, samples: [] });
    const life = lives.at(-1);
    life?.samples.push({ age_ms: now - life.since, mib });
  }

  /** MiB by process, as it was sampled last. */
  get newest(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#lives].map(([name, lives]) => [
        name,
        lives.at(-1)?.samples.at(-1)?.mib ?? Number.NaN,
      ]),
    );
  }

  /** A row for each process, and a goal for each of `judged` that lived long enough. */
  report(judged: ReadonlySet<string>): Required<Pick<BenchReport, 'detail' | 'ratios'>> {
    const growths = [...this.#lives].map(([name, lives]): readonly [string, Growth] => [
      name,
      growthOf(lives.map(({ samples }) => samples)),
    ]);
    return {
      detail: growths.map(([process, growth]) => ({
        process,
        lives: growth.lives,
        'longest life, minutes': growth.longest_minutes,
        MiB: known(growth.mib),
        'MiB/h': known(growth.mib_per_hour),
        'last third / first': known(growth.thirds),
        'same age, last life / first': known(growth.same_age),
      })),
      ratios: growths
        .filter(([name, { thirds }]) => judged.has(name) && !Number.isNaN(thirds))
        .map(([name, { thirds }]) => ({
          what: `memory of ${name}, last third of a life / first third`,
          ratio: thirds,
          goal: GOAL,
        })),
    };
  }
}

/** A life too short tells nothing. */
function known(value: number): number | string {
  return Number.isNaN(value) ? '-' : value;
}

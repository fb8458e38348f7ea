/** Chooses the next target and fault. Each one comes once before any repeats. */
import { Deck } from '../support/random.ts';
import type { ServerName } from '../../infra/local/servers/servers.ts';
import type { StackPlace, System } from './system.ts';

type How = 'killed' | 'frozen';

export interface Blow {
  /** one of them: services, or servers */
  readonly slots: readonly string[];
  readonly hows: readonly How[];
  /** frozen, nobody does its work meanwhile: it resumes after a moment */
  readonly is_alone?: boolean;
  /** services of which one is started while the server is away */
  readonly asking?: readonly string[];
}

export class Blows {
  readonly #system: System<StackPlace>;
  readonly #deck: Deck<Blow>;

  constructor(system: System<StackPlace>, blows: readonly Blow[]) {
    this.#system = system;
    this.#deck = new Deck(blows, system.random);
  }

  /**
   * Strikes: a killed one is ready again, a frozen one stays so until `Processes.thaw` unless it is
   * alone. Gives the target and the time from which recovery counts (`performance.now()`): that of
   * the restart, or of the freeze or its end.
   */
  async strike(
    moment: () => Promise<void>,
  ): Promise<{ readonly what: string; readonly since: number }> {
    const { random } = this.#system;
    const blow = this.#deck.draw();
    const slot = random.pick(blow.slots);
    const how = random.pick(blow.hows);
    const since =
      how === 'killed' ? await this.#kill(slot, blow) : await this.#freeze(slot, blow, moment);
    const what = `${slot.split('/')[0]} ${how}`;
    this.#system.note(what);
    return { what, since };
  }

  async #kill(slot: string, { asking = [] }: Blow): Promise<number> {
    const { processes, random } = this.#system;
    const starting = asking.length === 0 ? undefined : random.pick(asking);
    const started = await kill(this.#system, slot, async () => {
      if (starting !== undefined) await processes.kill(starting);
    });
    if (starting !== undefined) await processes.at(starting).ready();
    return started;
  }

  async #freeze(
    slot: string,
    { is_alone = false }: Blow,
    moment: () => Promise<void>,
  ): Promise<number> {
    const { processes } = this.#system;
    await processes.freeze(slot);
    if (!is_alone) return performance.now();
    await moment();
    await processes.thaw();
    return performance.now();
  }
}

/** Kills a service or a server and starts it again; resolves to its start, when it is ready. */
export async function kill(
  { place, processes }: System<StackPlace>,
  slot: string,
  whileAway: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  if (!isServer(place, slot)) {
    const started = await processes.kill(slot);
    await processes.at(slot).ready();
    return started;
  }
  const server = place.stack.servers[slot];
  await server.kill('SIGKILL');
  await whileAway();
  const started = performance.now();
  await server.start();
  return started;
}

function isServer({ stack }: StackPlace, slot: string): slot is ServerName {
  return Object.hasOwn(stack.servers, slot);
}

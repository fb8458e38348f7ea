/**
 * Readers of the explorer and the hub at even times: a request is sent when it is due, also while
 * earlier ones wait, and its time counts from then.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { Failure } from './outages.ts';
import { EXPLORER_PATHS, HUB_QUERIES } from './patient-readers.ts';
import { HANG_MS } from '../support/limits.ts';

interface Question {
  readonly gateway: 'explorer-gateway' | 'hub-gateway';
  readonly path: string;
  /** of a POST */
  readonly body?: string;
}

const QUESTIONS: readonly Question[] = [
  ...EXPLORER_PATHS.map((path): Question => ({ gateway: 'explorer-gateway', path })),
  ...HUB_QUERIES.map((query): Question => ({
    gateway: 'hub-gateway',
    path: '/graphql',
    body: JSON.stringify({ query }),
  })),
];

/** Since they were taken the last time. */
export interface Reads {
  /** of answers with status 200 and no error, from when they were due */
  readonly ms: readonly number[];
  readonly failures: readonly Failure[];
}

export class SoakReaders {
  readonly #urlOf: (gateway: string) => string;
  readonly #random: Random;
  #ms: number[] = [];
  #failures: Failure[] = [];

  constructor(urlOf: (gateway: string) => string, random: Random) {
    this.#urlOf = urlOf;
    this.#random = random;
  }

  take(): Reads {
    const taken = { ms: this.#ms, failures: this.#failures };
    this.#ms = [];
    this.#failures = [];
    return taken;
  }

  /** Resolves after the signal, when the last one is answered. */
  async run(perSecond: number, signal: AbortSignal): Promise<void> {
    const asking = new Set<Promise<void>>();
    for (let due = performance.now(); !signal.aborted; due += 1_000 / perSecond) {
      const early = due - performance.now();
      // all that are due are sent at once: a busy event loop has few turns
      // no limit: a pace
      if (early > 0) await after(early);
      const asked = this.#ask(this.#random.pick(QUESTIONS), due);
      asking.add(asked);
      void asked.finally(() => asking.delete(asked));
    }
    await Promise.all(asking);
  }

  async #ask({ gateway, path, body }: Question, due: number): Promise<void> {
    // timers are up to a millisecond early
    const begun = Math.min(due, performance.now());
    const failed = (told: string): void =>
      void this.#failures.push({
        needs: [gateway, 'postgres'],
        begun,
        ended: performance.now(),
        told: `${gateway}${path} ${body ?? ''}: ${told}`,
      });
    try {
      const response = await fetch(`${this.#urlOf(gateway)}${path}`, {
        ...(body !== undefined && {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        }),
        signal: AbortSignal.timeout(HANG_MS),
      });
      const text = await response.text();
      if (response.status === 200 && !text.includes('"errors"'))
        this.#ms.push(performance.now() - begun);
      else failed(`${response.status} ${text.slice(0, 200)}`);
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      failed(`${String(error)} (${String(cause)})`);
    }
  }
}

/** Questions to several servers at once. What has answered can be read before all have. */
import { setTimeout as after } from 'node:timers/promises';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { isSilence } from './away.ts';

export interface Part<Value> {
  /** name of the server that was asked, for people */
  readonly of: string;
  /** null: it has not answered */
  readonly value: Value | null;
  /** when it answered, by `performance.now()` */
  readonly answered_at: number | undefined;
  /** whether the server may still answer */
  readonly is_open: boolean;
  /** resolves when it has answered or is late */
  readonly end: Promise<void>;
}

class Question<Value> implements Part<Value> {
  readonly of: string;
  readonly end: Promise<void>;
  value: Value | null = null;
  answered_at: number | undefined;
  is_open = true;

  /** `ask` resolves to null where there is no answer. */
  constructor(of: string, ask: () => Promise<Value | null>) {
    this.of = of;
    this.end = this.#follow(ask);
  }

  async #follow(ask: () => Promise<Value | null>): Promise<void> {
    this.value = await ask();
    if (this.value !== null) this.answered_at = performance.now();
    this.is_open = false;
  }
}

/** Why a part has no answer. */
export interface Unanswered {
  /** name of the server */
  readonly of: string;
  readonly text: string;
  /** whether it says no more than that the server did not answer */
  readonly is_silent: boolean;
}

/** Each question has the same deadline. */
export class Parts {
  readonly #unanswered: Unanswered[] = [];
  readonly #deadline: Promise<unknown>;
  readonly #timeoutMs: number;
  readonly #asked: Part<unknown>[] = [];

  constructor(timeout_ms: number) {
    this.#timeoutMs = timeout_ms;
    this.#deadline = after(timeout_ms, undefined, { ref: false });
  }

  /** One for each server that did not answer, and for each other fault; in the order of asking. */
  get unanswered(): readonly Unanswered[] {
    const names = this.#asked.map(({ of }) => of);
    return this.#unanswered.toSorted((a, b) => names.indexOf(a.of) - names.indexOf(b.of));
  }

  /** A fault is noted in `unanswered`; any other error rejects `end`. */
  ask<Value>(of: string, ask: () => Promise<Value>): Part<Value> {
    const part = new Question(of, async () => {
      try {
        return await Promise.race([ask(), this.#deadline.then(() => this.#late(of))]);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.#note({ of, text: messageOf(error), is_silent: isSilence(error) });
        return null;
      }
    });
    this.#asked.push(part);
    return part;
  }

  /** Resolves when all have answered or are late, after `wait_ms` at most. */
  async answered(wait_ms?: number): Promise<void> {
    const all = Promise.all(this.#asked.map(({ end }) => end));
    await (wait_ms === undefined
      ? all
      : Promise.race([all, after(wait_ms, undefined, { ref: false })]));
  }

  /** Names of the parts that may still answer. */
  open(): ReadonlySet<string> {
    return new Set(this.#asked.filter(({ is_open: isOpen }) => isOpen).map(({ of }) => of));
  }

  /** A server that leaves several questions unanswered is noted once, by its first error. */
  #note({ of, text, is_silent }: Unanswered): void {
    const isNoted = this.#unanswered.some(
      (each) => each.of === of && (each.text === text || (is_silent && each.is_silent)),
    );
    if (!isNoted) this.#unanswered.push({ of, text, is_silent });
  }

  #late(of: string): never {
    const seconds = this.#timeoutMs / 1_000;
    throw new Fault(
      'timeout',
      `${of} did not answer within ${seconds} s: --timeout gives it longer`,
      {
        retry: true,
      },
    );
  }
}

/** Seconds since the first of these answered; null: none has. */
export function ageOf(parts: readonly Part<unknown>[]): number | null {
  const times = parts.flatMap(({ answered_at: answeredAt }) => answeredAt ?? []);
  if (times.length === 0) return null;
  return Math.round(performance.now() - Math.min(...times)) / 1_000;
}

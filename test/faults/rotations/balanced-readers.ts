/**
 * Readers of the gateways as they stand behind a load balancer: each read goes to one of the two
 * instances and, where that does not answer, to the other. It fails when neither answers.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { ClusterPorts } from '../../../infra/local/cluster/ports.ts';
import { HANG_MS } from '../../support/limits.ts';
import { specOf } from '../../support/stack.ts';
import { listed, QUESTIONS } from '../readers.ts';

type Question = (typeof QUESTIONS)[number];

/** Between two reads of the same question. */
const PACE_MS = 1_000;

export interface Reads {
  readonly answered: number;
  /** answered by the other instance */
  readonly by_other: number;
  readonly failed: readonly string[];
}

export class BalancedReaders {
  readonly #ports: ClusterPorts;
  readonly #ended: Promise<unknown>;
  #isOver = false;
  #answered = 0;
  #byOther = 0;
  #failed: string[] = [];

  /** Reads until `end`; `account` has deposits. */
  constructor(ports: ClusterPorts, account: number) {
    this.#ports = ports;
    this.#ended = Promise.all([...QUESTIONS, listed(account)].map((each) => this.#repeat(each)));
  }

  /** Since they were taken the last time. */
  take(): Reads {
    const taken = { answered: this.#answered, by_other: this.#byOther, failed: this.#failed };
    [this.#answered, this.#byOther, this.#failed] = [0, 0, []];
    return taken;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #repeat(question: Question): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const [first, second] = turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
      const refused = await this.#ask(question, first);
      const alsoRefused = refused === undefined ? undefined : await this.#ask(question, second);
      if (alsoRefused === undefined) this.#answered++;
      else this.#failed.push(`${question.gateway}${question.path}: ${refused}; ${alsoRefused}`);
      if (refused !== undefined && alsoRefused === undefined) this.#byOther++;
      // no limit: a pace
      await after(PACE_MS);
    }
  }

  /** Why there is no answer; undefined: there is. */
  async #ask(
    { gateway, path, body, token = '' }: Question,
    instance: 0 | 1,
  ): Promise<string | undefined> {
    const [port] = specOf(gateway).ports;
    try {
      const response = await fetch(`http://127.0.0.1:${this.#ports[instance][port]}${path}`, {
        headers: {
          'content-type': 'application/json',
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { method: 'POST', body }),
        signal: AbortSignal.timeout(HANG_MS),
      });
      const text = await response.text();
      const isAnswer = response.status === 200 && !text.includes('"errors"');
      return isAnswer ? undefined : `${response.status} ${text.slice(0, 200)}`;
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      return `${String(error)} (${String(cause)})`;
    }
  }
}

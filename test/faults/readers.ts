/**
 * Readers of the gateways at even times: a request is sent when it is due, also while earlier ones
 * wait, and its time counts from then.
 */
import { setTimeout as after } from 'node:timers/promises';
import { toHex } from '../../schemas/address.ts';
import { accountAt } from '../support/deposit-log.ts';
import type { Random } from '../support/random.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import type { Failure } from './outages.ts';
import { HANG_MS } from '../support/limits.ts';

export interface Question {
  readonly gateway: 'explorer-gateway' | 'hub-gateway' | 'deposit-gateway';
  readonly path: string;
  /** of a POST */
  readonly body?: string;
  readonly token?: string;
}

const EXPLORER_PATHS = [
  'blocks?limit=50',
  'blocks?limit=20&offset=100',
  'transactions?limit=50',
  'transactions?limit=20&offset=200',
  'transactions?type=Transfer',
  'validators',
  'stats',
  'status',
  'reserve/runs',
];
const HUB_QUERIES = [
  '{ listRideRequests { txHash fare } }',
  '{ listActiveTrips { txHash farePaid } }',
  '{ listCompletedTrips { txHash fare } }',
  '{ listRecentTrips { txHash tripStatus } }',
];

/** A query without a token. */
export function question(query: string): Question {
  return { gateway: 'hub-gateway', path: '/graphql', body: JSON.stringify({ query }) };
}

/** The deposits of one of our accounts. */
export function listed(account: number): Question {
  const token = goodToken({ pk: toHex(accountAt(account)), exp: 2 ** 40 }, SECRET);
  return { gateway: 'deposit-gateway', path: '/api/v1/deposits', token };
}

export const QUESTIONS: readonly Question[] = [
  ...EXPLORER_PATHS.map((path): Question => {
    return { gateway: 'explorer-gateway', path: `/api/v1/${path}` };
  }),
  ...HUB_QUERIES.map(question),
];

/** Since they were taken the last time. */
export interface Reads {
  /** of answers with status 200 and no error, from when they were due */
  readonly ms: readonly number[];
  readonly failures: readonly Failure[];
}

export class Readers {
  readonly #urlOf: (gateway: string) => string;
  readonly #random: Random;
  readonly #questions: readonly Question[];
  #ms: number[] = [];
  #failures: Failure[] = [];

  constructor(
    urlOf: (gateway: string) => string,
    random: Random,
    questions: readonly Question[] = QUESTIONS,
  ) {
    this.#urlOf = urlOf;
    this.#random = random;
    this.#questions = questions;
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
      const asked = this.#ask(this.#random.pick(this.#questions), due);
      asking.add(asked);
      void asked.finally(() => asking.delete(asked));
    }
    await Promise.all(asking);
  }

  async #ask({ gateway, path, body, token = '' }: Question, due: number): Promise<void> {
    // timers are up to a millisecond early
    const begun = Math.min(due, performance.now());
    const failed = (told: string): void =>
      void this.#failures.push({
        needs: [gateway, 'postgres', ...(gateway === 'deposit-gateway' ? ['redis'] : [])],
        begun,
        ended: performance.now(),
        told: `${gateway}${path} ${body ?? ''}: ${told}`,
      });
    try {
      const response = await fetch(`${this.#urlOf(gateway)}${path}`, {
        headers: {
          'content-type': 'application/json',
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { method: 'POST', body }),
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

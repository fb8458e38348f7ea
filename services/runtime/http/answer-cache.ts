/**
 * Responses made from a read model, cached until the model changes. Concurrent requests for the
 * same key share one response in flight. A response is cached from the second request of its key
 * on: most keys are requested once, and keeping those costs more than it saves.
 */
import { LRUCache } from 'lru-cache';
import { Fault, type Refusal } from '../process/errors.ts';
import type { ReadVersion } from '../read-version.ts';
import type { HttpResponse } from './handler.ts';

export interface Made {
  readonly answer: HttpResponse | Refusal;
  /** whether other requests with the same key may have it; only text with status 200 is cached */
  readonly isShared: boolean;
}

export interface KeptResponse extends HttpResponse {
  readonly body: string;
}

export interface AnswerCacheOptions {
  /** 0: every response is made for its request alone */
  readonly answers_kept_max: number;
  /** of the cached bodies and their keys together; their bytes and codings come on top */
  readonly characters_max?: number;
}

const CHARACTERS_MAX = 64 * 1024 * 1024;

export class AnswerCache {
  readonly #version: Pick<ReadVersion, 'known' | 'current'>;
  readonly #entriesMax: number;
  readonly #kept: LRUCache<string, KeptResponse>;
  readonly #inFlight = new Map<string, Promise<Made>>();
  /** keys requested once; cleared at the limit, after which some are made once more */
  readonly #requestedOnce = new Set<string>();
  /** the version that everything above belongs to */
  #keptVersion = 0;
  #hits = 0;

  constructor(
    version: Pick<ReadVersion, 'known' | 'current'>,
    { answers_kept_max: max, characters_max: maxSize = CHARACTERS_MAX }: AnswerCacheOptions,
  ) {
    this.#version = version;
    this.#entriesMax = max;
    this.#kept = new LRUCache({ max: Math.max(max, 1), maxSize });
  }

  /** How many responses were found so far. */
  get hits(): number {
    return this.#hits;
  }

  /** The cached response; undefined also when only Postgres knows whether it is stale. */
  find(key: string): KeptResponse | undefined {
    if (this.#version.known !== this.#keptVersion) return undefined;
    const found = this.#kept.get(key);
    if (found !== undefined) this.#hits++;
    return found;
  }

  /**
   * The response of this key, from the cache or made. While Postgres cannot be asked for the
   * version, each request makes its own. Throws what `make` throws. `joins` is called when it gets
   * the response that another request makes.
   */
  async answer(
    key: string,
    make: () => Promise<Made>,
    joins?: () => void,
  ): Promise<HttpResponse | Refusal> {
    const found = this.find(key);
    if (found !== undefined) return found;
    const version = this.#entriesMax === 0 ? undefined : await this.#currentVersion();
    if (version === undefined) return (await make()).answer;
    if (version !== this.#keptVersion) this.#clear(version);
    const kept = this.find(key);
    if (kept !== undefined) return kept;
    const others = this.#inFlight.get(key);
    if (others !== undefined) {
      joins?.();
      return (await others).answer;
    }
    const making = make();
    this.#inFlight.set(key, making);
    try {
      const made = await making;
      // otherwise the read model changed meanwhile, and the response is stale
      if (this.#inFlight.get(key) === making) this.#keep(key, made);
      return made.answer;
    } finally {
      if (this.#inFlight.get(key) === making) this.#inFlight.delete(key);
    }
  }

  async #currentVersion(): Promise<number | undefined> {
    try {
      return await this.#version.current();
    } catch (error) {
      if (error instanceof Fault) return undefined;
      throw error;
    }
  }

  #keep(key: string, { answer, isShared }: Made): void {
    if (!isShared || 'refused' in answer || answer.status !== 200) return;
    if (!isText(answer) || !this.#isRequestedAgain(key)) return;
    this.#kept.set(key, answer, { size: key.length + answer.body.length });
  }

  #isRequestedAgain(key: string): boolean {
    if (this.#requestedOnce.delete(key)) return true;
    if (this.#requestedOnce.size >= this.#entriesMax) this.#requestedOnce.clear();
    this.#requestedOnce.add(key);
    return false;
  }

  #clear(version: number): void {
    this.#kept.clear();
    this.#inFlight.clear();
    this.#requestedOnce.clear();
    this.#keptVersion = version;
  }
}

function isText(answer: HttpResponse): answer is KeptResponse {
  return typeof answer.body === 'string';
}

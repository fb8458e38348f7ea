/**
 * Responses made from a read model, cached until the model changes. Concurrent requests for the
 * same key share one response in flight. A response is cached from the second request of its key
 * on: most keys are requested once, and keeping those costs more than it saves.
 */
import { LRUCache } from 'lru-cache';
import { Fault } from '../process/errors.ts';
import type { ReadVersion } from '../read-version.ts';
import type { Answer } from './answer.ts';
import { Clients } from '../limits/clients.ts';

export interface AnswerCacheOptions {
  /** 0: every response is made for its request alone */
  readonly answers_kept_max: number;
  /** of the cached bodies and their keys together; their codings come on top */
  readonly characters_max?: number;
}

/** A request for an answer. */
export interface Asker {
  readonly client: string;
  /** Tells the clients that wait for the answer, of which this is one until it leaves. */
  readonly waitsWith: (clients: Clients) => void;
  readonly make: () => Promise<Answer>;
}

interface Making {
  readonly answer: Promise<Answer>;
  /** clients that wait for the answer */
  readonly clients: Clients;
}

function madeFor({ client, waitsWith, make }: Asker): Making {
  const clients = new Clients([client]);
  waitsWith(clients);
  return { answer: make(), clients };
}

const CHARACTERS_MAX = 64 * 1024 * 1024;

export class AnswerCache {
  readonly #version: Pick<ReadVersion, 'known' | 'current'>;
  readonly #entriesMax: number;
  readonly #kept: LRUCache<string, Answer>;
  readonly #inFlight = new Map<string, Making>();
  /** keys requested once; cleared at the limit, after which some are made once more */
  readonly #requestedOnce = new Set<string>();
  /** the version that everything above belongs to */
  #keptVersion = 0;
  #hits = 0;

  constructor(
    version: Pick<ReadVersion, 'known' | 'current'>,
    {
      answers_kept_max: answersKeptMax,
      characters_max: charactersMax = CHARACTERS_MAX,
    }: AnswerCacheOptions,
  ) {
    this.#version = version;
    this.#entriesMax = answersKeptMax;
    this.#kept = new LRUCache({ max: Math.max(answersKeptMax, 1), maxSize: charactersMax });
  }

  /** How many responses were found so far. */
  get hits(): number {
    return this.#hits;
  }

  /** The response of this key if it is cached; undefined also when it may be stale. */
  found(key: string): Answer | undefined {
    return this.#version.known === this.#keptVersion ? this.#found(key) : undefined;
  }

  /**
   * The response of this key, from the cache, or one that is made for all that ask meanwhile. While
   * Postgres cannot be asked for the version, each request makes its own. Rejects as `make` does.
   */
  async answer(key: string, asker: Asker): Promise<Answer> {
    if (this.#entriesMax === 0) return await madeFor(asker).answer;
    if (this.#version.known !== this.#keptVersion) {
      let version: number;
      try {
        version = await this.#version.current();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return await madeFor(asker).answer;
      }
      if (version !== this.#keptVersion) this.#clear(version);
    }
    return this.#found(key) ?? (await this.#share(key, asker));
  }

  #found(key: string): Answer | undefined {
    const found = this.#kept.get(key);
    if (found !== undefined) this.#hits++;
    return found;
  }

  async #share(key: string, asker: Asker): Promise<Answer> {
    const others = this.#inFlight.get(key);
    // an answer that all have left may never be made
    if (others !== undefined && others.clients.size > 0) {
      others.clients.add(asker.client);
      asker.waitsWith(others.clients);
      const answer = await others.answer;
      // by a limit of that client, not of this one
      return answer.is_refusal ? await madeFor(asker).answer : answer;
    }
    const making = madeFor(asker);
    this.#inFlight.set(key, making);
    try {
      const made = await making.answer;
      // otherwise the read model changed meanwhile, and the response is stale
      if (this.#inFlight.get(key) === making) this.#keep(key, made);
      return made;
    } finally {
      if (this.#inFlight.get(key) === making) this.#inFlight.delete(key);
    }
  }

  #keep(key: string, answer: Answer): void {
    if (!answer.is_shared || !this.#isRequestedAgain(key)) return;
    this.#kept.set(key, answer, { size: key.length + answer.length });
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

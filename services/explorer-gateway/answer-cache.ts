/**
 * Answers kept for as long as the index stands still, which between two blocks is most of the time: however many ask for the same page at once, Postgres is asked once, and whoever asks
 * after the second time is given what that one got. Most pages are asked for once: to keep them as well would cost more than they do. Any change of the index drops them all.
 */
import type { HttpResponse, GetRoute } from '../runtime/http/handler.ts';
import type { Refusal } from '../runtime/process/errors.ts';
import type { IndexVersion } from './index-version.ts';

type Answered = HttpResponse | Refusal;

const CHARACTERS_MAX = 32 * 1024 * 1024;
/** A longer address is never one that many ask for. */
const KEY_CHARACTERS_MAX = 512;

export class AnswerCache {
  readonly #index: Pick<IndexVersion, 'current'>;
  readonly #entriesMax: number;
  readonly #charactersMax: number;
  /** the oldest first; those still being made as well, so that however many wait for one it is made once */
  readonly #answers = new Map<string, { readonly answer: Promise<Answered>; characters: number }>();
  /** what was asked for once; forgotten when there are too many, of which some are then made once more */
  readonly #askedOnce = new Set<string>();
  #characters = 0;
  #version = 0;

  constructor(
    index: Pick<IndexVersion, 'current'>,
    entriesMax: number,
    charactersMax: number = CHARACTERS_MAX,
  ) {
    this.#index = index;
    this.#entriesMax = entriesMax;
    this.#charactersMax = charactersMax;
  }

  /** The same route with its answers kept. Only for one whose answer depends on its address and the index alone. */
  kept(route: GetRoute): GetRoute {
    return {
      ...route,
      handle: (request) => {
        const { originalUrl: key } = request;
        return key.length > KEY_CHARACTERS_MAX
          ? route.handle(request)
          : this.#answer(key, async () => await route.handle(request));
      },
    };
  }

  async #answer(key: string, make: () => Promise<Answered>): Promise<Answered> {
    // before the data is read: what changes meanwhile makes this answer one of the past
    const version = await this.#index.current();
    if (version !== this.#version) this.#clear(version);
    const kept = this.#answers.get(key);
    if (kept !== undefined) return kept.answer;
    const made = { answer: make(), characters: 0 };
    this.#answers.set(key, made);
    try {
      const answer = await made.answer;
      if (this.#answers.get(key) === made) this.#keep(key, made, answer);
      return answer;
    } catch (error) {
      if (this.#answers.get(key) === made) this.#answers.delete(key);
      throw error;
    }
  }

  #keep(key: string, made: { characters: number }, answer: Answered): void {
    if (
      'refused' in answer ||
      answer.status !== 200 ||
      typeof answer.body !== 'string' ||
      !this.#isAskedAgain(key)
    ) {
      this.#answers.delete(key);
      return;
    }
    made.characters = key.length + answer.body.length;
    this.#characters += made.characters;
    for (const [oldest, { characters }] of this.#answers) {
      if (this.#answers.size <= this.#entriesMax && this.#characters <= this.#charactersMax) return;
      this.#answers.delete(oldest);
      this.#characters -= characters;
    }
  }

  #isAskedAgain(key: string): boolean {
    if (this.#askedOnce.delete(key)) return true;
    if (this.#askedOnce.size >= this.#entriesMax) this.#askedOnce.clear();
    this.#askedOnce.add(key);
    return false;
  }

  #clear(version: number): void {
    this.#answers.clear();
    this.#askedOnce.clear();
    this.#characters = 0;
    this.#version = version;
  }
}

/**
 * Finished answers of Apollo, byte for byte, kept for as long as the read model stands still. Which request may have one from here is for the caller to say: its answer
 * must depend on nothing but its body, what it accepts, and the read model.
 */
import type { HttpResponse } from '../../runtime/http/handler.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { ReadModel } from '../read-model.ts';

const CHARACTERS_MAX = 64 * 1024 * 1024;

export interface Made {
  readonly answer: HttpResponse;
  /** whether the next one who asks the same may have it */
  readonly keep: boolean;
}

interface Entry {
  readonly made: Promise<Made>;
  /** once it is made and kept */
  answer: HttpResponse | undefined;
  characters: number;
}

export class BodyCache {
  readonly #model: Pick<ReadModel, 'known' | 'current'>;
  readonly #entriesMax: number;
  readonly #charactersMax: number;
  /** the oldest first; those being made as well, so that each is made once */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;
  #version = 0;
  #used = 0;

  constructor(
    model: Pick<ReadModel, 'known' | 'current'>,
    entriesMax: number,
    charactersMax = CHARACTERS_MAX,
  ) {
    this.#model = model;
    this.#entriesMax = entriesMax;
    this.#charactersMax = charactersMax;
  }

  /** The answer that is kept for this key; undefined when there is none, or Postgres has to be asked whether it still holds. */
  find(key: string): HttpResponse | undefined {
    const found = this.#model.known === this.#version ? this.#entries.get(key)?.answer : undefined;
    if (found !== undefined) this.#used++;
    return found;
  }

  /** How many answers were found so far. */
  get used(): number {
    return this.#used;
  }

  /** The answer of this key, made if need be: once for all who ask meanwhile, and for each alone while Postgres cannot be asked. Throws what `make` throws. */
  async answer(key: string, make: () => Promise<Made>): Promise<HttpResponse> {
    if (this.#entriesMax === 0) return (await make()).answer;
    // before the data is read: what changes meanwhile makes this answer one of the past
    const version = await this.#model.current().catch(absent);
    if (version === undefined) return (await make()).answer;
    if (version !== this.#version) this.#clear(version);
    const known = this.#entries.get(key);
    if (known !== undefined) return (await known.made).answer;
    const entry: Entry = { made: make(), answer: undefined, characters: 0 };
    this.#entries.set(key, entry);
    try {
      const made = await entry.made;
      if (this.#entries.get(key) === entry) this.#keep(key, entry, made);
      return made.answer;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  #keep(key: string, entry: Entry, { answer, keep }: Made): void {
    if (!keep || typeof answer.body !== 'string') {
      this.#entries.delete(key);
      return;
    }
    // as bytes, which go out as they are: making them of text each time would cost more than all the rest
    entry.answer = { ...answer, body: Buffer.from(answer.body) };
    entry.characters = key.length + answer.body.length;
    this.#characters += entry.characters;
    for (const [oldest, { characters }] of this.#entries) {
      if (this.#entries.size <= this.#entriesMax && this.#characters <= this.#charactersMax) return;
      this.#entries.delete(oldest);
      this.#characters -= characters;
    }
  }

  #clear(version: number): void {
    this.#entries.clear();
    this.#characters = 0;
    this.#version = version;
  }
}

/** A fault; whoever reads the data says what is the matter. */
function absent(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error;
}

/**
 * How much of the open subscriptions one holder has, which is a client, an account, or all accounts
 * of an address: so many different ones, and so many characters of their results.
 */
import { ON, type Limit } from './limits.ts';

interface Share {
  places: number;
  /** of the result when the holder first got it */
  characters: number;
}

interface Held {
  /** by subscription */
  readonly shares: Map<string, Share>;
  characters: number;
}

export interface SubscriptionSettings {
  readonly subscriptions_per_client_max: number;
  readonly subscription_bytes_max: number;
}

/** How many times as many all accounts of an address have together. */
const PLACES_PER_ADDRESS = 10;
/** The part of the memory of all results that one holder may fill; all accounts of an address. */
const CHARACTERS_PART = 1 / 8;
const ADDRESS_CHARACTERS_PART = 1 / 2;

/** An account counts by itself, and with all others of its address. */
export interface Holder {
  readonly name: string;
  readonly is_address: boolean;
}

export function holdersOf(client: string, account: string | undefined): readonly Holder[] {
  if (account === undefined) return [{ name: client, is_address: false }];
  return [
    { name: account, is_address: false },
    { name: `accounts of ${client}`, is_address: true },
  ];
}

export class HeldSubscriptions {
  readonly #countMax: number;
  readonly #charactersMax: number;
  readonly #addressCharactersMax: number;
  readonly #limit: Limit;
  readonly #held = new Map<string, Held>();

  constructor(options: SubscriptionSettings, limit: Limit = ON) {
    this.#limit = limit;
    this.#countMax = options.subscriptions_per_client_max;
    this.#charactersMax = options.subscription_bytes_max * CHARACTERS_PART;
    this.#addressCharactersMax = options.subscription_bytes_max * ADDRESS_CHARACTERS_PART;
  }

  /** Takes a place in a subscription for each holder; false when one of them has too many. */
  take(holders: readonly Holder[], subscription: string): boolean {
    const isFull =
      this.#limit.is_on &&
      holders.some(({ name, is_address: isAddress }) => {
        const shares = this.#held.get(name)?.shares;
        const max = this.#countMax * (isAddress ? PLACES_PER_ADDRESS : 1);
        return shares !== undefined && shares.size >= max && !shares.has(subscription);
      });
    if (isFull) {
      this.#limit.refused();
      return false;
    }
    for (const { name: holder } of holders) {
      const held = this.#held.get(holder) ?? { shares: new Map<string, Share>(), characters: 0 };
      this.#held.set(holder, held);
      const share = held.shares.get(subscription) ?? { places: 0, characters: 0 };
      held.shares.set(subscription, share);
      share.places++;
    }
    return true;
  }

  /** Counts the first result of those who have a place; false when one has too much then. */
  fit(holders: readonly Holder[], subscription: string, characters: number): boolean {
    const fits = holders.every(({ name, is_address: isAddress }) => {
      const held = this.#held.get(name);
      const share = held?.shares.get(subscription);
      if (held === undefined || share === undefined) return true;
      if (share.characters === 0) {
        share.characters = characters;
        held.characters += characters;
      }
      return held.characters <= (isAddress ? this.#addressCharactersMax : this.#charactersMax);
    });
    if (fits || !this.#limit.is_on) return true;
    this.#limit.refused();
    return false;
  }

  /** Gives the places back. */
  leave(holders: readonly Holder[], subscription: string): void {
    for (const { name: holder } of holders) {
      const held = this.#held.get(holder);
      const share = held?.shares.get(subscription);
      if (held === undefined || share === undefined || --share.places > 0) continue;
      held.shares.delete(subscription);
      held.characters -= share.characters;
      if (held.shares.size === 0) this.#held.delete(holder);
    }
  }
}

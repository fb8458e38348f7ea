/**
 * How much of the open subscriptions one holder has, which is a client or an account: so many
 * different ones, and so many characters of their results.
 */

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

export interface SharesOptions {
  readonly subscriptions_per_client_max: number;
  readonly subscription_bytes_max: number;
}

/** The part of the memory of all results that one holder may fill. */
const CHARACTERS_PART = 1 / 8;

export class Shares {
  readonly #countMax: number;
  readonly #charactersMax: number;
  readonly #held = new Map<string, Held>();

  constructor(options: SharesOptions) {
    this.#countMax = options.subscriptions_per_client_max;
    this.#charactersMax = options.subscription_bytes_max * CHARACTERS_PART;
  }

  /** Takes a place in a subscription for each holder; false when one of them has too many. */
  take(holders: readonly string[], subscription: string): boolean {
    const isFull = holders.some((holder) => {
      const shares = this.#held.get(holder)?.shares;
      return shares !== undefined && shares.size >= this.#countMax && !shares.has(subscription);
    });
    if (isFull) return false;
    for (const holder of holders) {
      const held = this.#held.get(holder) ?? { shares: new Map<string, Share>(), characters: 0 };
      this.#held.set(holder, held);
      const share = held.shares.get(subscription) ?? { places: 0, characters: 0 };
      held.shares.set(subscription, share);
      share.places++;
    }
    return true;
  }

  /** Counts the first result of those who have a place; false when one has too much then. */
  fit(holders: readonly string[], subscription: string, characters: number): boolean {
    return holders.every((holder) => {
      const held = this.#held.get(holder);
      const share = held?.shares.get(subscription);
      if (held === undefined || share === undefined) return true;
      if (share.characters === 0) {
        share.characters = characters;
        held.characters += characters;
      }
      return held.characters <= this.#charactersMax;
    });
  }

  /** Gives the places back. */
  leave(holders: readonly string[], subscription: string): void {
    for (const holder of holders) {
      const held = this.#held.get(holder);
      const share = held?.shares.get(subscription);
      if (held === undefined || share === undefined || --share.places > 0) continue;
      held.shares.delete(subscription);
      held.characters -= share.characters;
      if (held.shares.size === 0) this.#held.delete(holder);
    }
  }
}

/**
 * Requests mints and concludes them. An intent is appended first, and only an intent that counts
 * once it is read back is broadcast (`broadcaster.ts`). A mint's outcome is read from final blocks
 * and from nothing else.
 */
import { toHex } from '../../../schemas/address.ts';
import type { RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import {
  conclude,
  dueMints,
  intend,
  mintCallOf,
} from '../../../projections/deposits/domain/minting.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { retrying } from '../../runtime/process/retry.ts';
import { assertAuthority, ONE_KEY } from './mint-signer.ts';
import type { MintingParts } from './minting.ts';

/** Intents of one append. Each takes a signature (0.5 ms), during which nothing else is decided. */
const INTENTS_OF_A_BATCH = 50;
const CONCLUSIONS_OF_A_BATCH = 500;
/** Mints in flight: the node limits the pending transactions of one sender. */
const LIVE_MAX = 500;

export class Minter {
  readonly #options: MintingParts;
  #isCaughtUp = false;
  #halted: string | undefined;
  #closed: string | undefined;
  /** nonces of mints in flight that were requested with our key */
  readonly #ours = new Set<number>();

  constructor(options: MintingParts) {
    this.#options = options;
  }

  /** Why minting is halted; undefined while it is not. */
  get halted(): string | undefined {
    return this.#halted;
  }

  /** Why nothing is requested or broadcast at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    const { chain, second, books, allowed } = this.#options;
    if (this.#halted !== undefined) return this.#halted;
    if (!this.#isCaughtUp) return 'the logs are not read to their ends yet';
    if (chain.sender.finalHeight < 0) return 'no block is final yet';
    if (chain.unexplained(books.ledger).length > 0)
      return 'a Mint is being looked up in the ledger';
    if (chain.sender.forged !== undefined) return 'a transaction of the mint authority is forged';
    if (second?.problem !== undefined) return second.problem.message;
    return allowed();
  }

  /** Why no mint is requested: the clock is far from the chain's. Mints in flight go on. */
  get clock(): string | undefined {
    const { chain, now, clock_apart_max_ms: most } = this.#options;
    const { finalBlock } = chain.sender;
    if (finalBlock === undefined || most === 0) return undefined;
    const { height, timestamp } = finalBlock;
    const at = now();
    const apart = at - timestamp;
    if (Math.abs(apart) <= most) return undefined;
    const seconds = `${Math.round(Math.abs(apart) / 1_000)} s ${apart > 0 ? 'ahead of' : 'behind'}`;
    return `no mint is requested: this machine's clock, ${timeText(at)}, is ${seconds} the newest final block, ${height} of ${timeText(timestamp)}, and a mint counts in the rolling window at the time of the clock. What to do: set the clock right; if it is, look why there is no newer final block (the node, the chain-ingester); APP_CLOCK_APART_MAX_MS is the limit`;
  }

  /** Checks the authority and reads both logs to their ends. To be called once, at the start. */
  async begin(): Promise<void> {
    const { catchUp, signal, books, chain, log } = this.#options;
    // another key's nonces say nothing about our mints
    await retrying({ what: 'asking the node for its chain', log, signal }, () =>
      assertAuthority(this.#options),
    );
    await catchUp();
    if (signal.aborted) return;
    if (this.#haltOtherKey([...books.ledger.requested].at(-1))) return;
    this.#isCaughtUp = true;
    const { finalHeight, finalNonce } = chain.sender;
    log.info(
      { final_height: finalHeight, final_nonce: finalNonce, live: books.ledger.live.size },
      'both logs are read: minting may begin',
    );
  }

  /** Appends due intents and conclusions; false when nothing is due. */
  async round(): Promise<boolean> {
    const { catchUp, signal, append } = this.#options;
    if (!this.#isCaughtUp || this.#halted !== undefined) return false;
    this.#reportClosed();
    if (this.#haltForged() || !this.#isDue()) return false;
    await catchUp();
    if (signal.aborted || this.#haltUnexplained() || this.#haltForeign()) return false;
    const events = this.#events();
    return events.length > 0 && (await append(events), true);
  }

  #isDue(): boolean {
    const { books, chain, now } = this.#options;
    if (chain.unexplained(books.ledger).length > 0) return true;
    if (this.#conclusions(1).length > 0) return true;
    return (
      this.#mayIntend() &&
      dueMints(books.ledger, { now: now(), final_nonce: chain.sender.finalNonce, most: 1 }).length >
        0
    );
  }

  #events(): readonly TreasuryEvent[] {
    const conclusions = this.#conclusions(CONCLUSIONS_OF_A_BATCH);
    if (conclusions.length > 0 || !this.#mayIntend()) return conclusions;
    const { books, chain, signer, now } = this.#options;
    const most = Math.min(INTENTS_OF_A_BATCH, LIVE_MAX - books.ledger.live.size);
    const final_nonce = chain.sender.finalNonce;
    return intend(books.ledger, {
      now: now(),
      final_nonce,
      hash_of: (call) => signer.sign(call).tx_hash,
      most,
    }).events;
  }

  #conclusions(most: number): readonly TreasuryEvent[] {
    const { books, chain, second, now } = this.#options;
    const witness = second ?? chain.sender;
    return conclude(books.ledger, (nonce) => witness.finalAt(nonce), { now: now(), most }).events;
  }

  #mayIntend(): boolean {
    if (this.clock !== undefined) return false;
    return this.closed === undefined && this.#options.books.ledger.live.size < LIVE_MAX;
  }

  /** No outcome can be read from a chain that invents transactions of our key. */
  #haltForged(): boolean {
    const { chain, log } = this.#options;
    const { forged } = chain.sender;
    if (forged === undefined) return false;
    const { block_height, reason } = forged;
    const tx_hash = toHex(forged.tx_hash);
    this.#halted = `minting halted: final block ${block_height} of chain.blocks says that the mint authority sent ${tx_hash}, but ${reason}. What to do: the node that the chain-ingester asks is wrong, or somebody else wrote to chain.blocks: compare block ${block_height} with another node, point APP_NODE_URL to one that is right, and write chain.blocks again (CHN-6); nothing is minted meanwhile`;
    log.fatal({ tx_hash, block_height, reason }, 'minting halted: a forged transaction of our key');
    return true;
  }

  /** The ledger is read to its end: a Mint without an intent now was never requested. */
  #haltUnexplained(): boolean {
    const { books, chain, log } = this.#options;
    const [first, ...more] = chain.unexplained(books.ledger);
    if (first === undefined) return false;
    const { tx_hash, block_height, nonce } = first;
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    const how =
      books.ledger.requestedBy(tx_hash) === undefined ? 'was never requested' : 'was given up';
    this.#halted = `minting halted: the mint authority's Mint ${toHex(tx_hash)} with nonce ${nonce} in final block ${block_height} ${how} in the ledger${others}. What to do: find out who used the key, or wrote to the ledger (\`ops audit\` names the record), and take that out of use; nothing is minted meanwhile`;
    log.fatal(
      { tx_hash: toHex(tx_hash), nonce, block_height, others: more.length },
      'minting halted: a Mint that nobody requested, or that was given up',
    );
    return true;
  }

  /** The transactions of our key cannot conclude mints that another key has signed. */
  #haltForeign(): boolean {
    const { live } = this.#options.books.ledger;
    for (const nonce of this.#ours) if (!live.has(nonce)) this.#ours.delete(nonce);
    for (const mint of live.values()) {
      if (this.#ours.has(mint.nonce)) continue;
      if (this.#haltOtherKey(mint)) return true;
      this.#ours.add(mint.nonce);
    }
    return false;
  }

  /** A ledger has one mint authority for ever, whose nonces and transactions show outcomes. */
  #haltOtherKey(mint: RequestedMint | undefined): boolean {
    const { signer, log } = this.#options;
    if (mint === undefined || signer.sign(mintCallOf(mint)).tx_hash.equals(mint.tx_hash))
      return false;
    const { deposit_id, nonce } = mint;
    this.#halted = `minting halted: the mint of deposit ${deposit_id} with nonce ${nonce} was requested with another key, or for another chain, than the settings say, and ${ONE_KEY}. What to do: set APP_MINT_KEY and APP_CHAIN_ID to those that the ledger was written with, then start the treasury again; nothing is minted meanwhile`;
    log.fatal({ deposit_id, nonce }, 'minting halted: a mint in the ledger is of another key');
    return true;
  }

  #reportClosed(): void {
    const closed = this.closed ?? this.clock;
    if (closed === this.#closed) return;
    this.#closed = closed;
    if (closed === undefined) this.#options.log.info('minting is open');
    else this.#options.log.warn({ reason: closed }, 'minting is closed: deposits wait');
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

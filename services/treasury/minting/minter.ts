/**
 * Requests mints and concludes them. An intent is appended first, and only an intent that counts
 * once it is read back is broadcast (`broadcaster.ts`). A mint's outcome is read from final blocks
 * and from nothing else.
 *
 * A mint of the ledger is a claim. One that no treasury with our key requested, and a credit whose
 * nonce another transaction has, are voided by a signed record: the deposit waits again, and no
 * other mint waits for a nonce that the chain cannot reach.
 */
import { toHex } from '../../../schemas/address.ts';
import type { RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import {
  conclude,
  dueMints,
  intend,
  type FinalTransaction,
  type Intending,
} from '../../../projections/deposits/domain/minting.ts';
import {
  NOT_OF_OUR_KEY,
  type MintVoided,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Authority } from './authority.ts';
import type { MintingParts } from './options.ts';

/** Intents of one append. Each takes a signature (0.5 ms), during which nothing else is decided. */
const INTENTS_OF_A_BATCH = 50;
const CONCLUSIONS_OF_A_BATCH = 500;
/** Mints in flight: the node limits the pending transactions of one sender. */
const LIVE_MAX = 500;
const MEANWHILE = 'nothing is minted meanwhile';

type MinterParts = Pick<
  MintingParts,
  | 'allowed'
  | 'append'
  | 'books'
  | 'catchUp'
  | 'chain'
  | 'clock_apart_max_ms'
  | 'log'
  | 'now'
  | 'prover'
  | 'second'
  | 'signal'
  | 'signer'
>;

export class Minter {
  readonly #options: MinterParts;
  readonly #authority: Authority;
  #isCaughtUp = false;
  #halted: string | undefined;
  #closed: string | undefined;
  /** mints that our key has signed, by sequence, while the ledger shows them as not final */
  readonly #ours = new Set<number>();

  constructor(options: MinterParts, authority: Authority) {
    this.#options = options;
    this.#authority = authority;
  }

  /** Whether both logs were read to their ends once. */
  get is_caught_up(): boolean {
    return this.#isCaughtUp;
  }

  /** Why minting is halted; undefined while it is not. */
  get halted(): string | undefined {
    return this.#halted;
  }

  /** Why nothing is requested or broadcast at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    const { books, chain, second, allowed } = this.#options;
    if (this.#halted !== undefined) return this.#halted;
    if (!this.#isCaughtUp) return 'the logs are not read to their ends yet';
    if (chain.sender.final_height < 0) return 'no block is final yet';
    if (this.#whyHalted !== undefined) return 'the chain or the ledger is being looked at again';
    const { governance } = books.ledger;
    if (governance.is_stopped)
      return 'operators have stopped all minting. What to do: they open it again with `ops mint start`';
    const problem = this.#authority.problem ?? second?.problem?.message ?? allowed();
    if (problem !== undefined) return problem;
    return governance.ledger_id === undefined
      ? 'the ledger is not pinned yet: it goes on by itself'
      : undefined;
  }

  /**
   * Mints that the ledger calls credited, that our key made, and that are in no final block yet:
   * they are sent until they are.
   */
  get credits_to_send(): readonly RequestedMint[] {
    return this.#isCaughtUp ? this.#creditsNotShown.filter((mint) => this.#isOurs(mint)) : [];
  }

  /** The first credit that no final block shows, if any. */
  get not_shown(): RequestedMint | undefined {
    return this.#isCaughtUp ? this.#creditsNotShown[0] : undefined;
  }

  /** Why no mint is requested: the clock is far from the chain's. Mints in flight go on. */
  get clock(): string | undefined {
    const { chain, now, clock_apart_max_ms: clockApartMaxMs } = this.#options;
    const { final_block: finalBlock } = chain.sender;
    if (finalBlock === undefined || clockApartMaxMs === 0) return undefined;
    const at = now();
    return Math.abs(at - finalBlock.timestamp) <= clockApartMaxMs
      ? undefined
      : clocksApart(at, finalBlock);
  }

  /** Checks the authority and reads both logs to their ends. To be called once, at the start. */
  async begin(): Promise<void> {
    const { catchUp, signal, books, chain, log } = this.#options;
    await this.#authority.begin();
    await catchUp();
    if (signal.aborted) return;
    this.#isCaughtUp = true;
    const { final_height: finalHeight, final_nonce: finalNonce } = chain.sender;
    log.info(
      { final_height: finalHeight, final_nonce: finalNonce, live: books.ledger.live.size },
      'both logs are read: minting may begin',
    );
  }

  /** Appends due intents and conclusions; false when nothing is due. */
  async round(): Promise<boolean> {
    const { catchUp, signal, append } = this.#options;
    if (!this.#isCaughtUp) return false;
    this.#reportClosed();
    if (!this.#isDue()) return false;
    await catchUp();
    if (signal.aborted) return false;
    this.#judge();
    const events = this.#events();
    return events.length > 0 && (await append(events), true);
  }

  /** Deposits that are minted or sent next, as far as the ledger says; proven or not. */
  due(most: number): readonly string[] {
    const { books, chain, prover } = this.#options;
    if (!this.#isCaughtUp || chain.sender.final_height < 0) return [];
    const isProven = (id: string): boolean => !prover.isRefused(id);
    const next = dueMints(books.ledger, { ...this.#intending(most), isProven: isProven });
    return [...next, ...this.credits_to_send].map(({ deposit_id: depositId }) => depositId);
  }

  #isDue(): boolean {
    const { books } = this.#options;
    return (
      this.#whyHalted !== this.#halted ||
      this.#conclusions(1).length > 0 ||
      this.#authorityDue.length > 0 ||
      this.#voids(1).length > 0 ||
      this.#holds(1).length > 0 ||
      (this.#mayIntend() && dueMints(books.ledger, this.#intending(1)).length > 0)
    );
  }

  /** The brokers take no record from the future: the clock has to be right. */
  get #authorityDue(): readonly TreasuryEvent[] {
    return this.clock === undefined ? this.#authority.due : [];
  }

  #events(): readonly TreasuryEvent[] {
    const { books, signer, chain, log } = this.#options;
    if (this.#authorityDue.length > 0) return this.#authorityDue;
    const conclusions = this.#conclusions(CONCLUSIONS_OF_A_BATCH);
    if (conclusions.length > 0) return conclusions;
    const voids = this.#voids(CONCLUSIONS_OF_A_BATCH);
    if (voids.length > 0) {
      const deposits = voids.map(({ deposit_id: depositId }) => depositId);
      log.error(
        { deposits, final_height: chain.sender.final_height },
        'the ledger shows mints that are not on the chain: they are voided; find out who writes to the ledger',
      );
      return voids;
    }
    const holds = this.#holds(CONCLUSIONS_OF_A_BATCH);
    if (holds.length > 0 || !this.#mayIntend()) return holds;
    const most = Math.min(INTENTS_OF_A_BATCH, LIVE_MAX - books.ledger.live.size);
    const hashOf: Intending['hashOf'] = (call) => signer.sign(call).tx_hash;
    return intend(books.ledger, { ...this.#intending(most), hashOf: hashOf }).events;
  }

  #intending(most: number): Omit<Intending, 'hashOf'> {
    const { chain, prover, now } = this.#options;
    return {
      now: now(),
      final_nonce: chain.sender.final_nonce,
      most,
      isOver: (mint) => this.#isOver(mint),
      isProven: (id) => prover.isProven(id),
    };
  }

  /**
   * Whether a mint that was given up is not on the chain and never will be. Nobody can make the
   * transaction of one that our key did not sign; the second node has to show the others, too.
   */
  #isOver(mint: RequestedMint): boolean {
    if (this.#isForeign(mint)) return true;
    return this.#options.chain.isOver(mint) && this.#isShown(mint);
  }

  /** Whether the second node, where there is one, shows the nonce of the mint as the chain does. */
  #isShown(mint: RequestedMint): boolean {
    const { chain, second } = this.#options;
    if (second === undefined || !chain.isOfAuthority(mint)) return true;
    return second.finalAt(mint.nonce) !== undefined;
  }

  /**
   * The mints in flight are those of the authority in force. One that our key did not make is
   * voided whatever `chain.blocks` says of it: the chain's book believes the hashes of intents.
   */
  #conclusions(most: number): readonly TreasuryEvent[] {
    const { books, chain, second, now } = this.#options;
    const { ledger } = books;
    if (ledger.governance.authority === undefined) return [];
    if (chain.forged !== undefined || !chain.is_complete) return [];
    const witness = second ?? chain.sender;
    const finalAt = (nonce: number): FinalTransaction | undefined => {
      const mint = ledger.live.get(nonce);
      return mint !== undefined && this.#isOurs(mint) ? witness.finalAt(nonce) : undefined;
    };
    return conclude(ledger, finalAt, { now: now(), most }).events;
  }

  /** Without the authority's signature a hold has no effect. */
  #holds(most: number): readonly TreasuryEvent[] {
    return this.#authority.problem === undefined ? this.#options.prover.holds(most) : [];
  }

  /** Mints that the ledger shows and the chain never will. */
  #voids(most: number): readonly MintVoided[] {
    const { books, now } = this.#options;
    const { ledger } = books;
    if (!this.#mayVoid) return [];
    const voids: MintVoided[] = [];
    for (const mint of [...ledger.live.values(), ...this.#creditsNotShown]) {
      if (voids.length >= most) break;
      const reason = this.#whyVoid(mint);
      if (reason === undefined) continue;
      const { deposit_id, tx_hash, nonce } = mint;
      voids.push({
        type: 'MintVoided',
        sequence: Number(ledger.end) + voids.length,
        deposit_id,
        tx_hash,
        nonce,
        actor: 'treasury',
        reason,
        decided_at: now(),
      });
    }
    return voids;
  }

  /** The chain is read and true, and the ledger is one that our key mints by. */
  get #mayVoid(): boolean {
    const { books, chain } = this.#options;
    return (
      this.#isCaughtUp &&
      books.ledger.governance.ledger_id !== undefined &&
      chain.forged === undefined &&
      this.#authority.problem === undefined
    );
  }

  #whyVoid(mint: RequestedMint): string | undefined {
    if (this.#isForeign(mint)) return NOT_OF_OUR_KEY;
    const found = this.#options.chain.finalOf(mint);
    // a mint in flight is concluded instead
    if (found === undefined || this.#options.books.ledger.live.get(mint.nonce) === mint)
      return undefined;
    // a credit whose own transaction shows no mint is for a person: blocks may be forged
    return !found.tx_hash.equals(mint.tx_hash) && this.#isShown(mint)
      ? 'another transaction has its nonce'
      : undefined;
  }

  /** Credits that no final block shows. */
  get #creditsNotShown(): readonly RequestedMint[] {
    const { books, chain } = this.#options;
    return books.creditsNotShown((mint) => chain.isMinted(mint));
  }

  #mayIntend(): boolean {
    const { governance, live } = this.#options.books.ledger;
    if (this.clock !== undefined || governance.authority === undefined) return false;
    return this.closed === undefined && live.size < LIVE_MAX;
  }

  /** Halts minting, or ends a halt, as chain and ledger, both read to their ends, have it now. */
  #judge(): void {
    const why = this.#whyHalted;
    if (why === this.#halted) return;
    this.#halted = why;
    if (why === undefined) this.#options.log.warn('minting is not halted any more');
    else this.#options.log.fatal({ reason: why }, 'minting halted');
  }

  get #whyHalted(): string | undefined {
    return this.#whyForged ?? this.#whyUnexplained;
  }

  /** No outcome can be read from a chain that invents transactions of our key. */
  get #whyForged(): string | undefined {
    const { forged } = this.#options.chain;
    if (forged === undefined) return undefined;
    const { block_height, reason } = forged;
    return `minting halted: final block ${block_height} of chain.blocks says that the mint authority sent ${toHex(forged.tx_hash)}, but ${reason}. What to do: the node that the chain-ingester asks is wrong, or somebody else wrote to chain.blocks: compare block ${block_height} with another node, point APP_NODE_URL to one that is right, and write chain.blocks again (CHN-6); ${MEANWHILE}`;
  }

  /** Once the ledger is read to its end, a Mint without an intent was never requested. */
  get #whyUnexplained(): string | undefined {
    const { books, chain } = this.#options;
    const [first, ...more] = chain.unexplained;
    if (first === undefined) return undefined;
    const { tx_hash, block_height, nonce } = first;
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    const how =
      books.ledger.requestedBy(tx_hash) === undefined ? 'was never requested' : 'was given up';
    return `minting halted: the mint authority's Mint ${toHex(tx_hash)} with nonce ${nonce} in final block ${block_height} ${how} in the ledger${others}. What to do: find out who used the key, or wrote to the ledger (\`ops audit\` names the record), and take that out of use; then an operator acknowledges the Mint (\`ops mint acknowledge\`), or names another key (\`ops authority rotate\`); ${MEANWHILE}`;
  }

  /** Whether our key made the bytes of the mint, which takes 0.5 ms the first time. */
  #isOurs(mint: RequestedMint): boolean {
    const { chain } = this.#options;
    if (this.#ours.has(mint.sequence)) return true;
    if (!chain.isOfAuthority(mint) || !this.#authority.signs(mint)) return false;
    this.#ours.add(mint.sequence);
    return true;
  }

  /** Whether the mint is of our key's account, and our key did not make it. */
  #isForeign(mint: RequestedMint): boolean {
    return (
      this.#authority.problem === undefined &&
      this.#options.chain.isOfAuthority(mint) &&
      !this.#isOurs(mint)
    );
  }

  #reportClosed(): void {
    const closed = this.closed ?? this.clock;
    if (closed === this.#closed) return;
    this.#closed = closed;
    if (closed === undefined) this.#options.log.info('minting is open');
    else this.#options.log.warn({ reason: closed }, 'minting is closed: deposits wait');
  }
}

/** Why no mint is requested at this time of the clock. A block is dated by its producer's clock. */
export function clocksApart(
  at: number,
  { height, timestamp }: { readonly height: number; readonly timestamp: number },
): string {
  const seconds = Math.round(Math.abs(at - timestamp) / 1_000);
  const [place, remedy] =
    at < timestamp
      ? [
          'after',
          "one of both clocks is wrong. What to do: compare them with a third one, and set right this machine's, or the one of the node that made the block, whose next blocks are right then",
        ]
      : [
          'before',
          'one of both clocks is wrong, or no newer block is final. What to do: set the clock of this machine right; where it is, look at the node and the chain-ingester',
        ];
  return `no mint is requested: the newest final block, ${height}, is dated ${timeText(timestamp)}, ${seconds} s ${place} this machine's clock, ${timeText(at)}, at whose time a mint counts in the rolling window: ${remedy}; APP_CLOCK_APART_MAX_MS is the limit`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Minting: follows the chain, requests mints in the ledger and broadcasts them to the node. */
import type { Sender } from '../../../projections/chain/sender.ts';
import type { Proofs } from '../../../projections/reserve/position.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { TreasuryContext } from '../ledger/ledger-writer.ts';
import { Authority } from './authority.ts';
import { Broadcaster } from './broadcaster.ts';
import { ChainBook } from './chain-book.ts';
import { Minter } from './minter.ts';
import {
  chainTopicOf,
  type MintingContext,
  type MintingOptions,
  type MintingParts,
} from './options.ts';
import { Prover } from './prover.ts';
import { SecondNode } from './second-node.ts';

/** Deposits whose transfers are looked up at TRON before their turn. */
const PROVEN_AHEAD = 100;

export class Minting {
  readonly topic: string;
  readonly chain: ChainBook;
  readonly second: SecondNode | undefined;
  readonly #minter: Minter;
  readonly #broadcaster: Broadcaster;
  readonly #prover: Prover;
  readonly #authority: Authority;
  readonly #context: TreasuryContext;
  readonly #everyMs: number;

  constructor(options: MintingOptions, context: MintingContext) {
    const { chain_id, signer, node, second_node, receipt, now = Date.now } = options;
    const { again_ms, late_ms, clock_apart_max_ms } = options;
    const { books, changes, metrics, traces, lease, log, signal } = context.treasury;
    const { usdt_contract, custody_addresses, deposit_key } = context.receiving;
    const { network, limits, allowed, last, append, catchUp } = context;
    this.#everyMs = options.every_ms;
    this.#context = context.treasury;
    const { ledger } = books;
    this.topic = chainTopicOf(options);
    const chain = new ChainBook({ chain_id, ledger, own: signer.address });
    this.chain = chain;
    // a mint in flight is concluded by its nonce, and one that is void or dead requested again
    const nonces = (): Iterable<number> => [
      ...ledger.live.keys(),
      ...[...books.creditsNotShown((mint) => chain.isMinted(mint)), ...ledger.given_up_to_mint]
        .filter((mint) => chain.isOfAuthority(mint))
        .map(({ nonce }) => nonce),
    ];
    const sender = (): Sender => chain.sender;
    this.second =
      second_node && new SecondNode({ node: second_node, chain_id, sender, live: nonces, log });
    this.#prover = new Prover({
      books,
      changes,
      metrics,
      lease,
      log,
      signal,
      catchUp,
      transfers: context.transfers,
      usdt_contract,
      custody_addresses,
      deposit_key,
      receipt,
      late_ms,
      again_ms,
      now,
    });
    const parts: MintingParts = {
      books,
      changes,
      metrics,
      traces,
      log,
      signal,
      append,
      catchUp,
      network,
      limits,
      usdt_contract,
      allowed,
      last,
      signer,
      node,
      chain_id,
      again_ms,
      late_ms,
      clock_apart_max_ms,
      chain,
      second: this.second,
      prover: this.#prover,
      now,
    };
    this.#authority = new Authority(parts);
    this.#minter = new Minter(parts, this.#authority);
    this.#broadcaster = new Broadcaster(parts, this.#minter);
  }

  /** Without the reserve's closing of minting, which the reconciliation reports. */
  get problem(): HealthProblem | undefined {
    const { halted, clock } = this.#minter;
    const phase = 'minting';
    if (halted !== undefined) return { status: 'halted', phase, message: halted };
    const message = this.#authority.problem ?? clock;
    if (message !== undefined) return { status: 'waiting', phase, message };
    return (
      this.second?.problem ?? this.#broadcaster.problem ?? this.#prover.problem ?? this.#notShown
    );
  }

  get #notShown(): HealthProblem | undefined {
    const mint = this.#minter.not_shown;
    if (mint === undefined) return undefined;
    const { deposit_id, nonce } = mint;
    const message = `deposit ${deposit_id} is credited in the ledger, and its mint with nonce ${nonce} is in no final block. What to do: it is voided or sent again by itself when this treasury has the key that requested it; if not, and no node has it in a final block, operators void it with \`ops mint void\``;
    return { status: 'waiting', phase: 'minting', message };
  }

  /** Whether the chain and the ledger were read to their ends once. */
  get is_caught_up(): boolean {
    return this.#minter.is_caught_up;
  }

  /** Nothing is minted before a person has done something, which may be here only. */
  get is_halted(): boolean {
    return this.#minter.halted !== undefined || this.#authority.problem !== undefined;
  }

  /** Why nothing is minted at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    return this.#minter.closed ?? this.#minter.clock;
  }

  /** The proofs of this process, for reserve runs. */
  get proofs(): Proofs {
    const prover = this.#prover;
    return {
      isProven: (id) => prover.isArrived(id),
      isPaidBack: (id) => prover.isPaidBack(id),
      isInternal: (id) => prover.isInternal(id),
      displaced: () => prover.displaced,
    };
  }

  /** Requests and concludes due mints; false when nothing was due. */
  round(): Promise<boolean> {
    return this.#minter.round();
  }

  /** Broadcasts requested mints until the signal is aborted. */
  async run(): Promise<void> {
    const { changes, lease, signal } = this.#context;
    await this.#minter.begin();
    await Promise.all([
      this.second?.run(this.#everyMs, signal, () => changes.notify()),
      this.#authority.watch(),
      // a standby spends none of the provider's requests
      this.#prover.run(() => (lease.is_held ? this.#minter.due(PROVEN_AHEAD) : [])),
      this.#broadcast(),
    ]);
  }

  async #broadcast(): Promise<void> {
    const { changes, signal } = this.#context;
    changes.notify();
    // time alone makes mints due: the window moves, a broadcast is repeated
    const ticking = setInterval(() => changes.notify(), this.#everyMs);
    try {
      while (!signal.aborted) {
        const { next } = changes;
        await this.#broadcaster.pass();
        await next;
      }
    } finally {
      clearInterval(ticking);
    }
  }
}

/** Minting: follows the chain, requests mints in the ledger and broadcasts them to the node. */
import type { Proofs } from '../../../projections/reserve/position.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import { Authority, type AuthorizedParts } from './authority.ts';
import { Broadcaster } from './broadcaster.ts';
import { ChainBook } from './chain-book.ts';
import { Minter } from './minter.ts';
import { chainTopicOf, type MintingContext, type MintingOptions } from './options.ts';
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
  readonly #parts: AuthorizedParts;

  constructor(options: MintingOptions, context: MintingContext) {
    const { chain_id, signer, second_node: node, now = Date.now } = options;
    const { books, log } = context;
    const { ledger } = books;
    this.topic = chainTopicOf(options);
    const chain = new ChainBook({ chain_id, ledger, own: signer.address });
    this.chain = chain;
    // a mint in flight is concluded by its nonce, and one that is void or dead requested again
    const nonces = (): Iterable<number> => [
      ...ledger.live.keys(),
      ...[...books.creditsNotShown((mint) => chain.isMinted(mint)), ...ledger.givenUpToMint]
        .filter((mint) => chain.isOfAuthority(mint))
        .map(({ nonce }) => nonce),
    ];
    this.second =
      node && new SecondNode({ node, chain_id, sender: () => chain.sender, live: nonces, log });
    const prover = new Prover({ ...context, ...options, now });
    const parts = { ...context, ...options, chain, second: this.second, prover, now };
    this.#parts = { ...parts, authority: new Authority(parts) };
    this.#minter = new Minter(this.#parts);
    this.#broadcaster = new Broadcaster(this.#parts, this.#minter);
  }

  /** Without the reserve's closing of minting, which the reconciliation reports. */
  get problem(): HealthProblem | undefined {
    const { halted, clock } = this.#minter;
    const phase = 'minting';
    if (halted !== undefined) return { status: 'halted', phase, message: halted };
    const message = this.#parts.authority.problem ?? clock;
    if (message !== undefined) return { status: 'waiting', phase, message };
    return (
      this.second?.problem ??
      this.#broadcaster.problem ??
      this.#parts.prover.problem ??
      this.#notShown
    );
  }

  get #notShown(): HealthProblem | undefined {
    const mint = this.#minter.notShown;
    if (mint === undefined) return undefined;
    const { deposit_id, nonce } = mint;
    const message = `deposit ${deposit_id} is credited in the ledger, and its mint with nonce ${nonce} is in no final block. What to do: it is voided or sent again by itself when this treasury has the key that requested it; if not, and no node has it in a final block, operators void it with \`ops mint void\``;
    return { status: 'waiting', phase: 'minting', message };
  }

  /** Whether the chain and the ledger were read to their ends once. */
  get isCaughtUp(): boolean {
    return this.#minter.isCaughtUp;
  }

  /** Nothing is minted before a person has done something, which may be here only. */
  get isHalted(): boolean {
    return this.#minter.halted !== undefined || this.#parts.authority.problem !== undefined;
  }

  /** Why nothing is minted at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    return this.#minter.closed ?? this.#minter.clock;
  }

  /** The proofs of this process, for reserve runs. */
  get proofs(): Proofs {
    const { prover } = this.#parts;
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
    const { changes, lease, signal, every_ms } = this.#parts;
    await this.#minter.begin();
    await Promise.all([
      this.second?.run(every_ms, signal, () => changes.notify()),
      this.#parts.authority.watch(),
      // a standby spends none of the provider's requests
      this.#parts.prover.run(() => (lease.isHeld ? this.#minter.due(PROVEN_AHEAD) : [])),
      this.#broadcast(),
    ]);
  }

  async #broadcast(): Promise<void> {
    const { changes, signal, every_ms } = this.#parts;
    changes.notify();
    // time alone makes mints due: the window moves, a broadcast is repeated
    const ticking = setInterval(() => changes.notify(), every_ms);
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

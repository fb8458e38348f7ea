/**
 * A reserve run computed again from the blocks of the chain: by the folds of the services, from the
 * first block to the one of the run. It takes on trust only those figures that no block shows.
 */
import { bytesKey, parseAddress, parseHash, toHex } from '../../../../schemas/address.ts';
import type { BlockAppended, BlockTransaction } from '../../../../schemas/chain.blocks/events.ts';
import type { NodeBlock } from '../../../../schemas/chain-node.ts';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { FUNCTION_CALL_TYPES } from '../../../../schemas/function-call.ts';
import { readEnvelope, transactionHash } from '../../../../schemas/raw-transaction.ts';
import { readEffects } from '../../../../projections/chain/block-effects.ts';
import { whyForged, whyNotSigned } from '../../../../projections/chain/sender.ts';
import {
  positionOf,
  possibleStatuses,
  statusOf,
  surplusOf,
  type Position,
} from '../../../../projections/reserve/position.ts';
import { ChainSupply, type FinalSupply } from '../../../../projections/reserve/supply.ts';

/** In their order. */
export const STEPS = [
  'blocks',
  'transactions',
  'effects',
  'mints',
  'supply',
  'liability',
  'verdict',
] as const;
export type StepName = (typeof STEPS)[number];

/**
 * believed: what the chain shows allows the figures of the run, and does not prove them. stopped:
 * an earlier step, or the reader, has ended the work before.
 */
export type State = 'waiting' | 'running' | 'good' | 'believed' | 'bad' | 'stopped';

/** A name with a count (number), an amount (bigint), or a text: a hash, an address, a status. */
export type Figure = readonly [name: string, value: number | bigint | string];

export interface Difference {
  /** the name of the figure */
  readonly of: string;
  readonly computed: Figure[1];
  readonly said: Figure[1];
  /** of the block that shows it */
  readonly height?: number;
  /** words of the fold */
  readonly reason?: string;
}

export interface Step {
  readonly name: StepName;
  readonly state: State;
  readonly figures: readonly Figure[];
  readonly difference?: Difference;
}

/** The run, and what is known besides it; amounts are text. */
export interface Claim {
  readonly run: RecordedRun;
  /** of the node; the bytes of a transaction name the chain that they were signed for */
  readonly chain_id: number;
  /** 0x + hex */
  readonly mint_authority: string;
  /** as the treasury says it now; null: not known */
  readonly tolerance: string | null;
}

/** The figures of a run that are computed with. */
const NUMBERS = [
  'ledger_offset',
  'custody_reported',
  'frozen',
  'onchain_supply',
  'genesis_allocation',
  'burned',
  'treasury_minted',
  'ledger_liability',
  'held',
  'minting',
  'waiting',
  'retained_fees',
  'booked_surplus',
  'refunded',
  'uncovered',
  'surplus',
] as const satisfies readonly (keyof RecordedRun)[];

export class Verification {
  readonly #claim: Claim;
  readonly #authority: Buffer;
  readonly #supply = new ChainSupply();
  /** the next nonce of each sender, by its address */
  readonly #nonces = new Map<string, number>();
  readonly #problems = new Map<StepName, Difference>();
  /** how many have a call that is not known */
  #unknown = 0;
  #blocks = 0;
  #transactions = 0;
  #mints = 0;
  #minted = 0n;

  /** Throws a `TypeError` where the claim lacks something to compute with. */
  constructor(claim: Claim) {
    this.#claim = claim;
    bytesOf(parseHash(claim.run.block_hash), 'hash');
    const missing = NUMBERS.find((name) => !/^-?\d+$/.test(String(claim.run[name])));
    if (missing !== undefined) throw missed(missing);
    this.#authority = bytesOf(parseAddress(claim.mint_authority), 'address');
  }

  /** Whether no further block is to be read: the run's is reached, or one does not fit. */
  get isDone(): boolean {
    return this.#final?.height === this.#claim.run.block_height || this.#problems.has('blocks');
  }

  /** How many blocks fit, from the first on. */
  get blocks(): number {
    return this.#blocks;
  }

  get #final(): FinalSupply | undefined {
    return this.#supply.final;
  }

  /** The next block; the first one is that at height 0. */
  take(read: NodeBlock): void {
    // places of a log that has each block, and then says that it is final
    const sequence = this.#blocks * 2;
    const block: BlockAppended = { ...read, type: 'BlockAppended', sequence };
    const { height, hash } = block;
    const before = this.#final;
    const verdict = this.#supply.apply(block, BigInt(sequence));
    if (verdict !== 'applied') {
      this.#found('blocks', {
        of: 'parentHash',
        computed: before === undefined ? '' : toHex(before.hash),
        said: toHex(block.parent_hash),
        height,
        reason: typeof verdict === 'string' ? verdict : verdict.broken,
      });
      return;
    }
    const final = { type: 'BlocksFinalized', sequence: sequence + 1, height, hash } as const;
    this.#supply.apply(final, BigInt(sequence + 1));
    this.#blocks++;
    for (const transaction of block.transactions) this.#prove(transaction, height);
    this.#account(block);
  }

  #prove(transaction: BlockTransaction, height: number): void {
    const { from, nonce } = transaction;
    const isAuthority = from.equals(this.#authority);
    this.#transactions++;
    const next = this.#nonces.get(bytesKey(from)) ?? 0;
    this.#nonces.set(bytesKey(from), nonce + 1);
    const claim = { address: from, chain_id: this.#claim.chain_id };
    const isUnknown = !TYPES.has(transaction.function_call_type);
    const reason = (isUnknown ? whyNotSigned : whyForged)(transaction, claim);
    if (isUnknown && reason === undefined) this.#unknown++;
    if (reason === undefined) {
      if (nonce !== next)
        this.#found(isAuthority ? 'mints' : 'transactions', {
          of: 'nonce',
          computed: next,
          said: nonce,
          height,
          reason: toHex(transaction.hash),
        });
      return;
    }
    const hash = transactionHash(transaction.raw);
    const isOther = hash !== toHex(transaction.hash);
    this.#found('transactions', {
      of: isOther ? 'transactionHash' : 'sender',
      computed: isOther ? hash : signerIn(transaction.raw),
      said: toHex(isOther ? transaction.hash : from),
      height,
      reason: `${toHex(transaction.hash)}: ${reason}`,
    });
  }

  /** Only the first block and Mints create, only Burns destroy; only one account may mint. */
  #account(block: BlockAppended): void {
    const { height } = block;
    if (height === 0) return;
    const { mints, problem } = readEffects(block);
    if (problem !== undefined)
      this.#found('effects', { of: 'effects', computed: problem, said: '', height });
    for (const { done, from, amount, hash } of mints) {
      if (!done) continue;
      this.#mints++;
      this.#minted += amount;
      if (!from.equals(this.#authority))
        this.#found('mints', {
          of: 'minter',
          computed: toHex(from),
          said: toHex(this.#authority),
          height,
          reason: toHex(hash),
        });
    }
  }

  /** The first difference of a step stays. */
  #found(step: StepName, difference: Difference): void {
    if (!this.#problems.has(step)) this.#problems.set(step, difference);
  }

  /** All steps as far as they are; `isOver`: no further block comes. */
  steps(isOver = false): readonly Step[] {
    const final = this.#final;
    const isReached = final?.height === this.#claim.run.block_height;
    if (isReached) this.#conclude(final);
    const read: State = isReached ? 'good' : isOver || this.isDone ? 'stopped' : 'running';
    const figures = this.#figures();
    return STEPS.map((name): Step => {
      const isRead = READ.has(name);
      const difference = this.#problems.get(name);
      const state = isRead || isReached ? read : isOver || this.isDone ? 'stopped' : 'waiting';
      const shown = isRead || isReached ? figures[name] : [];
      if (difference !== undefined) return { name, state: 'bad', figures: shown, difference };
      const isBelieved = isReached && this.#isBelieved(name, final);
      return { name, state: isBelieved ? 'believed' : state, figures: shown };
    });
  }

  #figures(): Readonly<Record<StepName, readonly Figure[]>> {
    const { run } = this.#claim;
    const final = this.#final;
    return {
      blocks: [
        ['blocks', this.#blocks],
        ['blockHash', final === undefined ? '' : toHex(final.hash)],
      ],
      transactions: [
        ['transactions', this.#transactions],
        ['addresses', this.#nonces.size],
        ...(this.#unknown === 0 ? [] : [['unknown', this.#unknown] as const]),
        ['chain', String(this.#claim.chain_id)],
      ],
      effects: [['burned', final?.burned ?? 0n]],
      mints: [
        ['mints', this.#mints],
        ['minted', this.#minted],
        ['authority', this.#claim.mint_authority],
      ],
      supply: [
        ['genesis', final?.genesis_allocation ?? 0n],
        ['supply', final?.supply ?? 0n],
      ],
      liability: final === undefined ? [] : [['liability', this.#position(final).ledger_liability]],
      verdict:
        final === undefined
          ? []
          : [
              ['custody', BigInt(run.custody_reported)],
              ['surplus', surplusOf(this.#position(final))],
              ['status', run.status],
            ],
    };
  }

  /** Compares the run with the chain up to its block. */
  #conclude(final: FinalSupply): void {
    const { run } = this.#claim;
    if (!final.hash.equals(bytesOf(parseHash(run.block_hash), 'hash')))
      this.#found('blocks', { of: 'blockHash', computed: toHex(final.hash), said: run.block_hash });
    this.#compare('supply', 'supply', final.supply, run.onchain_supply);
    if (!this.#hasBaseline(final)) {
      this.#compare('supply', 'genesis', final.genesis_allocation, run.genesis_allocation);
      this.#compare('supply', 'burned', final.burned, run.burned);
      this.#compare('liability', 'minted', this.#minted, run.treasury_minted);
    }
    const position = this.#position(final);
    this.#compare('liability', 'liability', position.ledger_liability, run.ledger_liability);
    this.#compare('verdict', 'uncovered', position.uncovered, run.uncovered);
    this.#compare('verdict', 'surplus', surplusOf(position), run.surplus);
    const statuses = possibleStatuses(position);
    if (!statuses.includes(run.status))
      this.#found('verdict', { of: 'status', computed: statuses.join(), said: run.status });
  }

  #compare(step: StepName, of: string, computed: bigint, text: string): void {
    const said = BigInt(text);
    if (computed !== said) this.#found(step, { of, computed, said });
  }

  /** Whether the ledger began on a chain that had minted before, and counts from there. */
  #hasBaseline({ genesis_allocation: genesis, burned }: FinalSupply): boolean {
    const { run } = this.#claim;
    return BigInt(run.genesis_allocation) > genesis && BigInt(run.burned) <= burned;
  }

  #isBelieved(name: StepName, final: FinalSupply): boolean {
    const { run, tolerance } = this.#claim;
    if (name === 'supply' || name === 'liability') return this.#hasBaseline(final);
    if (name !== 'verdict') return name === 'transactions' && this.#unknown > 0;
    return tolerance === null || statusOf(this.#position(final), BigInt(tolerance)) !== run.status;
  }

  /** The position of the chain; what only the ledger and TRON know is from the run. */
  #position(final: FinalSupply): Position {
    const { run } = this.#claim;
    return positionOf(
      {
        ledger_offset: BigInt(run.ledger_offset),
        // compared with the mints of the chain where there is no baseline
        treasury_minted: BigInt(run.treasury_minted),
        ...(this.#hasBaseline(final) && {
          before: {
            genesis_allocation: BigInt(run.genesis_allocation),
            burned: final.burned - BigInt(run.burned),
          },
        }),
        held: BigInt(run.held),
        minting: BigInt(run.minting),
        waiting: BigInt(run.waiting),
        retained_fees: BigInt(run.retained_fees),
        booked_surplus: BigInt(run.booked_surplus),
        refunded: BigInt(run.refunded),
        // parts of those above, of which nothing is computed
        unproven: 0n,
        unminted: 0n,
        unproven_refunds: 0n,
      },
      final,
      BigInt(run.custody_reported),
      BigInt(run.frozen),
    );
  }
}

const TYPES: ReadonlySet<string> = new Set(FUNCTION_CALL_TYPES);

/** The steps that each block belongs to; the others need the block of the run. */
const READ: ReadonlySet<StepName> = new Set(['blocks', 'transactions', 'effects', 'mints']);

function bytesOf(bytes: Buffer | undefined, what: string): Buffer {
  if (bytes === undefined) throw missed(what);
  return bytes;
}

function missed(what: string): TypeError {
  return new TypeError(
    `The explorer gave no valid ${what}. Try again; if it stays, tell the operator.`,
  );
}

/** The address whose key signed these bytes, in any case without a claim; empty: nobody's. */
function signerIn(raw: Buffer): string {
  const read = readEnvelope(raw);
  return 'signer' in read ? read.signer : '';
}

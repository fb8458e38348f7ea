/**
 * Seeded logs of a correct treasury: changed settings, decisions of people, failed mints, nonces
 * used by somebody else, and reserve runs whose clock is not that of the ledger. For every fourth
 * seed the decisions are signed, the chain has a past, Mints are acknowledged and keys rotate.
 */
import { setPolicy } from '../../../../projections/deposits/domain/confirmation.ts';
import type { RequestedMint } from '../../../../projections/deposits/domain/ledger.ts';
import { approve, reject, release } from '../../../../projections/deposits/domain/approval.ts';
import {
  conclude,
  mintCallOf,
  type FinalTransaction,
} from '../../../../projections/deposits/domain/minting.ts';
import { deriveKey, type Key } from '../../../../infra/devnet/clt/keys.ts';
import { toHex } from '../../../../schemas/address.ts';
import type { BlockTransaction } from '../../../../schemas/chain.blocks/events.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { MintAcknowledged } from '../../../../schemas/treasury.ledger/events.ts';
import { runForbids } from '../../../../services/treasury/reconciliation/newest-run.ts';
import {
  named,
  PRODUCER,
  signedCall,
  type EffectByHand,
  type TransactionByHand,
} from '../../../support/chain-by-hand.ts';
import { HOUR_MS } from '../../../support/mint-ledger.ts';
import { Random } from '../../../support/random.ts';
import { ACCOUNTS, type Logs } from './audited.ts';
import { addressOf, GENESIS, signedMint, TreasuryByHand, USD } from './treasury-by-hand.ts';

const ROUNDS = 12;
const LIMITS = { ...NETWORK_LIMITS.testnet, single_cap: 15n * USD, rolling_cap: 40n * USD };
/** The clock of runs is as far as this before or after that of the ledger. */
const SKEW_MS = 3_000_000;

class RandomTreasury {
  readonly #random: Random;
  readonly #isGoverned: boolean;
  readonly #treasury = new TreasuryByHand(LIMITS);
  readonly #skew: number;
  #final = new Map<number, FinalTransaction>();
  /** mints that an operator has given up and a block may still take, with this key */
  #released = new Map<number, RequestedMint>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#isGoverned = seed % 4 === 1;
    this.#skew = this.#random.below(2 * SKEW_MS) - SKEW_MS;
    if (this.#isGoverned) this.#begin();
  }

  get logs(): Logs {
    return this.#treasury.logs;
  }

  round(): void {
    const [random, treasury] = [this.#random, this.#treasury];
    treasury.now += random.below(8) * HOUR_MS;
    const single_cap = BigInt(10 + random.below(10)) * USD;
    if (random.chance(0.3)) this.#setPolicy({ ...LIMITS, single_cap });
    for (let left = 1 + random.below(4); left > 0; left--) this.#pay();
    this.#decide();
    // a run is measured, and in the log after mints that were requested meanwhile
    const before = random.chance(0.5) ? this.#measured() : undefined;
    if (runForbids(this.logs.runs.at(-1)) === undefined)
      treasury.request(this.#final.size, 1 + random.below(4));
    if (before !== undefined) treasury.publish(before);
    if (random.chance(0.8)) this.#block();
    const finalAt = (nonce: number): FinalTransaction | undefined => this.#final.get(nonce);
    treasury.write(conclude(treasury.ledger, finalAt, { now: treasury.now, most: 3 }).events);
    if (random.chance(0.5)) treasury.publish(this.#measured());
    if (this.#isGoverned && random.chance(0.3)) this.#govern();
  }

  /** Operators, custody, authority, and a chain that has minted before. */
  #begin(): void {
    const treasury = this.#treasury;
    const past = { address: named('past'), kind: 'mint', delta: 50n * USD };
    const { hash, height } = treasury.chain.append({
      transactions: [{ from: named('past'), to: past.address, amount: past.delta }],
      effects: [{ ...past, tx_index: 0 }],
    });
    treasury.chain.finalize();
    treasury.begin();
    treasury.write([
      {
        type: 'BaselinePinned',
        ...this.#by('to begin'),
        block_height: height,
        block_hash: hash,
        supply: GENESIS + past.delta,
        liability: past.delta,
      },
    ]);
  }

  #by(reason: string): Pick<MintAcknowledged, 'sequence' | 'decided_at' | 'actor' | 'reason'> {
    return { sequence: 0, decided_at: this.#treasury.now, actor: 'alice', reason };
  }

  #setPolicy(limits: typeof LIMITS): void {
    const { ledger, now } = this.#treasury;
    const decision = setPolicy(ledger, { network: 'testnet', limits }, now);
    for (const event of 'events' in decision ? decision.events : [])
      this.#treasury.write([{ ...event, actor: 'alice', reason: 'caps' }]);
  }

  #pay(): void {
    const random = this.#random;
    this.#treasury.pay(random.below(ACCOUNTS), BigInt(1 + random.below(22_000_000)), {
      tx_id: random.bytes(32),
      log_index: random.below(3),
      from: random.bytes(20),
    });
  }

  #decide(): void {
    const random = this.#random;
    const { ledger, now } = this.#treasury;
    const person = { actor: 'alice', reason: 'so it is', now };
    for (const [id, { status }] of ledger.deposits) {
      if (status !== 'needs_manual' || random.chance(0.6)) continue;
      const decide = random.chance(0.7) ? approve : reject;
      const decision = decide(ledger, { deposit_id: id, ...person });
      if ('events' in decision) this.#treasury.write(decision.events);
    }
    for (const mint of ledger.live.values()) {
      if (!this.#isGoverned || this.#released.has(mint.nonce) || random.chance(0.6)) continue;
      const decision = release(ledger, { deposit_id: mint.deposit_id, ...person });
      if ('events' in decision) this.#treasury.write(decision.events);
      this.#released.set(mint.nonce, mint);
    }
  }

  /** A refund, a surplus that is booked, or another key. */
  #govern(): void {
    const treasury = this.#treasury;
    const { ledger } = treasury;
    const by = this.#by('so it is');
    const refundable = [...ledger.deposits].flatMap(([id, deposit]) =>
      deposit.status === 'needs_manual' && deposit.rejected && deposit.refunded === 0n
        ? [{ deposit_id: id, amount: deposit.terms.gross }]
        : [],
    );
    for (const refund of refundable)
      treasury.write([
        { type: 'RefundRecorded', ...by, ...refund, tron_tx_id: this.#random.bytes(32) },
      ]);
    treasury.write([{ type: 'SurplusBooked', ...by, amount: 5n }]);
    if (ledger.live.size > 0) return;
    const version = (ledger.governance.authority?.version ?? 0) + 1;
    treasury.key = deriveKey('audit', `authority ${version}`);
    this.#final = new Map();
    this.#released = new Map();
    const authority = addressOf(treasury.key);
    treasury.write([{ type: 'AuthoritySet', ...by, version, authority }]);
  }

  /**
   * Requested mints in nonce order; some fail, and some nonces are used by somebody else, who may
   * even mint, or by a mint that was released. Others move money, burn and pay fees.
   */
  #block(): void {
    const [random, treasury] = [this.#random, this.#treasury];
    const fates = this.#isGoverned
      ? (['minted', 'minted', 'minted', 'failed', 'taken', 'foreign'] as const)
      : (['minted', 'minted', 'minted', 'failed', 'taken'] as const);
    const released = random.chance(0.5) ? this.#released : new Map<number, RequestedMint>();
    const mints = [...new Map([...treasury.ledger.live, ...released]).values()]
      .filter(({ nonce }) => !this.#final.has(nonce))
      .map((mint) => {
        const isReleased = released.get(mint.nonce) === mint;
        return { mint, fate: isReleased ? ('released' as const) : random.pick(fates) };
      });
    const own = mints.map(({ mint, fate }) => transactionOf(mint, fate, treasury.key));
    const tx_index = own.length;
    const burned = BigInt(random.below(5));
    const transactions = [
      ...own,
      { from: named('dave'), to: named('erin') },
      { from: named('erin'), to: ZERO, amount: burned, function_call_type: 'Burn' },
    ];
    const block = treasury.chain.append({
      transactions,
      effects: [
        ...own.flatMap(({ to, amount }, at) =>
          mints[at]?.fate === 'failed' || mints[at]?.fate === 'taken'
            ? []
            : [{ address: to, kind: 'mint', delta: amount, tx_index: at }],
        ),
        { address: named('dave'), kind: 'transfer_out', delta: -9n, tx_index },
        { address: named('erin'), kind: 'transfer_in', delta: 9n, tx_index },
        { address: named('erin'), kind: 'burn', delta: -burned, tx_index: tx_index + 1 },
        ...transactions.map((_, at) => feePaid(at)),
        { address: PRODUCER, kind: 'tx_fee_earned', delta: 3n * BigInt(transactions.length) },
        { address: named('pool'), kind: 'block_reward', delta: -1n },
        { address: PRODUCER, kind: 'block_reward', delta: 1n },
      ],
    });
    treasury.chain.finalize();
    for (const [at, { mint, fate }] of mints.entries()) {
      const made = own[at];
      if (made === undefined) throw new Error('each mint has a transaction');
      const { hash, to, amount } = made;
      this.#final.set(mint.nonce, {
        tx_hash: hash,
        block_height: block.height,
        block_hash: block.hash,
        minted: fate === 'minted' ? mint : undefined,
      });
      if (fate !== 'foreign' && fate !== 'released') continue;
      const at_block = { tx_hash: hash, to, amount, block_height: block.height };
      treasury.write([{ type: 'MintAcknowledged', ...this.#by('it was me'), ...at_block }]);
    }
  }

  /** A run, by a clock of its own; now and then money is missing, or there is too much. */
  #measured(): ReserveReconciled {
    const more = this.#random.pick([0n, 0n, 0n, 2n * USD, -30n * USD, -10_000n * USD]);
    const run_at = this.#treasury.now + this.#skew;
    const begun_at = run_at - 90_000;
    return this.#treasury.measured(more, { run_at, begun_at, oldest_reading_at: 0 });
  }
}

const ZERO = Buffer.alloc(20);

function feePaid(tx_index: number): EffectByHand {
  return { address: named('dave'), kind: 'tx_fee_paid', delta: -3n, tx_index };
}

type Fate = 'minted' | 'failed' | 'taken' | 'foreign' | 'released';

function transactionOf(
  mint: RequestedMint,
  fate: Fate,
  key: Key,
): TransactionByHand & Pick<BlockTransaction, 'hash' | 'amount'> {
  const call = mintCallOf(mint);
  if (fate === 'minted' || fate === 'failed' || fate === 'released') return signedMint(key, call);
  if (fate === 'foreign') return signedMint(key, { ...call, to: named('somebody'), amount: 77n });
  const args = { to: toHex(mint.to), amount: mint.amount };
  const { hash, ...transfer } = signedCall(key, mint.nonce, {
    function_call_type: 'Transfer',
    arguments: args,
  });
  if (hash === undefined) throw new Error('a signed call has a hash');
  return { ...transfer, hash, amount: mint.amount };
}

const logsMade = new Map<number, Logs>();

/** The same for the same seed. */
export function randomLogs(seed: number): Logs {
  const known = logsMade.get(seed);
  if (known !== undefined) return known;
  const treasury = new RandomTreasury(seed);
  for (let round = 0; round < ROUNDS; round++) treasury.round();
  logsMade.set(seed, treasury.logs);
  return treasury.logs;
}

/**
 * Seeded logs of a correct treasury: changed settings, decisions of people, failed mints, nonces
 * used by somebody else, and reserve runs whose clock is not that of the ledger. For every fourth
 * seed the decisions are signed, the chain has a past, Mints are acknowledged and keys rotate.
 */
import { confirmAll, setPolicy } from '../../../../projections/deposits/domain/confirmation.ts';
import { Ledger, type RequestedMint } from '../../../../projections/deposits/domain/ledger.ts';
import { approve, reject, release } from '../../../../projections/deposits/domain/approval.ts';
import {
  conclude,
  intend,
  mintCallOf,
  type FinalTransaction,
  type MintCall,
} from '../../../../projections/deposits/domain/minting.ts';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import {
  ledgerPosition,
  positionOf,
  statusOf,
  surplusOf,
} from '../../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../../projections/reserve/supply.ts';
import { deriveKey, type Key } from '../../../../infra/devnet/clt/keys.ts';
import { parseAddress, toHex } from '../../../../schemas/address.ts';
import type { BlockTransaction } from '../../../../schemas/chain.blocks/events.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { runForbids } from '../../../../services/treasury/reconciliation/newest-run.ts';
import {
  ChainByHand,
  named,
  PRODUCER,
  signedCall,
  type EffectByHand,
  type TransactionByHand,
} from '../../../support/chain-by-hand.ts';
import { BEGIN, depositKey, USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { HOUR_MS } from '../../../support/mint-ledger.ts';
import { Random } from '../../../support/random.ts';
import { ACCOUNTS, tellAddresses, type Logs } from './audited.ts';
import { OPERATOR_ADDRESS, signed, signedMint } from './treasury-by-hand.ts';

const USD = 1_000_000n;
const ROUNDS = 12;
const LIMITS = { ...NETWORK_LIMITS.testnet, single_cap: 15n * USD, rolling_cap: 40n * USD };
const TOLERANCE = USD;
/** The clock of runs is as far as this before or after that of the ledger. */
const SKEW_MS = 3_000_000;

class RandomTreasury {
  readonly #random: Random;
  readonly #isGoverned: boolean;
  readonly #ledger = new Ledger();
  readonly #log: TreasuryEvent[] = [];
  readonly #chain = new ChainByHand();
  readonly #supply = new ChainSupply();
  readonly #runs: ReserveReconciled[] = [];
  readonly #transfers: Recorded<TransferObserved>[] = [];
  readonly #ends = new Map<number, bigint>();
  readonly #skew: number;
  #final = new Map<number, FinalTransaction>();
  /** mints that an operator has given up and a block may still take, with this key */
  #released = new Map<number, RequestedMint>();
  #key = deriveKey('audit', 'authority 1');
  #now = BEGIN;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#isGoverned = seed % 4 === 1;
    this.#skew = this.#random.below(2 * SKEW_MS) - SKEW_MS;
    tellAddresses(this.#ledger.addresses);
    const genesis = { address: named('genesis'), kind: 'mint', delta: 1_000n * USD };
    this.#chain.append({ effects: [genesis] });
    if (this.#isGoverned) this.#begin(genesis.delta);
  }

  get logs(): Logs {
    return {
      transfers: this.#transfers,
      ledger: this.#log,
      chain: this.#chain.log,
      runs: this.#runs,
    };
  }

  round(): void {
    const random = this.#random;
    this.#now += random.below(8) * HOUR_MS;
    const single_cap = BigInt(10 + random.below(10)) * USD;
    if (this.#ledger.policy === undefined || random.chance(0.3))
      this.#setPolicy(this.#ledger.policy === undefined ? LIMITS : { ...LIMITS, single_cap });
    this.#pay(1 + random.below(4));
    this.#decide();
    // a run is measured, and in the log after mints that were requested meanwhile
    const before = random.chance(0.5) ? this.#measure() : undefined;
    if (this.#isOpen) this.#intend(1 + random.below(4));
    if (before !== undefined) this.#runs.push(before);
    if (random.chance(0.8)) this.#block();
    this.#write(
      conclude(this.#ledger, (nonce) => this.#final.get(nonce), { now: this.#now, most: 3 }).events,
    );
    const after = random.chance(0.5) ? this.#measure() : undefined;
    if (after !== undefined) this.#runs.push(after);
    if (this.#isGoverned && random.chance(0.3)) this.#govern();
  }

  /** Operators, custody, authority, and a chain that has minted before. */
  #begin(genesis: bigint): void {
    const past = { address: named('past'), kind: 'mint', delta: 50n * USD };
    const { hash, height } = this.#chain.append({
      transactions: [{ from: named('past'), to: past.address, amount: past.delta }],
      effects: [{ ...past, tx_index: 0 }],
    });
    this.#chain.finalize();
    const by = { sequence: 0, decided_at: BEGIN, actor: 'alice', reason: 'to begin' };
    this.#write([
      {
        type: 'OperatorsSet',
        ...by,
        version: 1,
        operators: [OPERATOR_ADDRESS],
        two_above: 0n,
      },
      {
        type: 'CustodyPinned',
        ...by,
        version: 1,
        usdt_contract: USDT_CONTRACT,
        custody_addresses: [named('custody')],
      },
      { type: 'AuthoritySet', ...by, version: 1, authority: addressOf(this.#key) },
      {
        type: 'BaselinePinned',
        ...by,
        block_height: height,
        block_hash: hash,
        supply: genesis + past.delta,
        liability: past.delta,
      },
    ]);
  }

  #setPolicy(limits: typeof LIMITS): void {
    const decision = setPolicy(this.#ledger, { network: 'testnet', limits }, this.#now);
    for (const event of 'events' in decision ? decision.events : [])
      this.#write([{ ...event, actor: 'alice', reason: 'caps' }]);
  }

  #pay(count: number): void {
    const fresh = Array.from({ length: count }, () => {
      const index = this.#random.below(ACCOUNTS);
      const to = depositKey().addressAt(index);
      const partition = transferPartition(to);
      const offset = this.#ends.get(partition) ?? 0n;
      this.#ends.set(partition, offset + 1n);
      const event: TransferObserved = {
        type: 'TransferObserved',
        tx_id: this.#random.bytes(32),
        log_index: this.#random.below(3),
        block_number: 70_000_000,
        block_timestamp: this.#now - 60_000,
        contract: USDT_CONTRACT,
        from: this.#random.bytes(20),
        to,
        value: BigInt(1 + this.#random.below(22_000_000)),
        address_index: index,
      };
      return { event, partition, offset, timestamp: this.#now };
    });
    this.#transfers.push(...fresh);
    // a transfer that was observed again is no other one
    this.#write(
      confirmAll(this.#ledger, this.#transfers, {
        now: this.#now,
        usdt_contract: USDT_CONTRACT,
        custody_addresses: [],
      }).events,
    );
  }

  #decide(): void {
    const random = this.#random;
    for (const [id, { status }] of this.#ledger.deposits) {
      if (status !== 'needs_manual' || random.chance(0.6)) continue;
      const person = { deposit_id: id, actor: 'alice', reason: 'so it is', now: this.#now };
      const decision = (random.chance(0.7) ? approve : reject)(this.#ledger, person);
      if ('events' in decision) this.#write(decision.events);
    }
    for (const mint of this.#ledger.live.values()) {
      if (!this.#isGoverned || this.#released.has(mint.nonce) || random.chance(0.6)) continue;
      const person = { deposit_id: mint.deposit_id, actor: 'alice', reason: 'no', now: this.#now };
      const decision = release(this.#ledger, person);
      if ('events' in decision) this.#write(decision.events);
      this.#released.set(mint.nonce, mint);
    }
  }

  #intend(most: number): void {
    const final_nonce = this.#final.size;
    const hash_of = (call: MintCall): Buffer => signedMint(this.#key, call).hash;
    this.#write(intend(this.#ledger, { now: this.#now, final_nonce, hash_of, most }).events);
  }

  /** A refund, a surplus that is booked, or another key. */
  #govern(): void {
    const by = { sequence: 0, decided_at: this.#now, actor: 'alice', reason: 'so it is' };
    const refundable = [...this.#ledger.deposits].flatMap(([id, deposit]) =>
      deposit.status === 'needs_manual' && deposit.rejected && deposit.refunded === 0n
        ? [{ deposit_id: id, amount: deposit.terms.gross }]
        : [],
    );
    for (const refund of refundable)
      this.#write([
        { type: 'RefundRecorded', ...by, ...refund, tron_tx_id: this.#random.bytes(32) },
      ]);
    this.#write([{ type: 'SurplusBooked', ...by, amount: 5n }]);
    if (this.#ledger.live.size > 0) return;
    const version = (this.#ledger.governance.authority?.version ?? 0) + 1;
    this.#key = deriveKey('audit', `authority ${version}`);
    this.#final = new Map();
    this.#released = new Map();
    const authority = addressOf(this.#key);
    this.#write([{ type: 'AuthoritySet', ...by, version, authority }]);
  }

  /**
   * Requested mints in nonce order; some fail, and some nonces are used by somebody else, who may
   * even mint, or by a mint that was released. Others move money, burn and pay fees.
   */
  #block(): void {
    const random = this.#random;
    const fates = this.#isGoverned
      ? (['minted', 'minted', 'minted', 'failed', 'taken', 'foreign'] as const)
      : (['minted', 'minted', 'minted', 'failed', 'taken'] as const);
    const released = random.chance(0.5) ? this.#released : new Map<number, RequestedMint>();
    const mints = [...new Map([...this.#ledger.live, ...released]).values()]
      .filter(({ nonce }) => !this.#final.has(nonce))
      .map((mint) => {
        const isReleased = released.get(mint.nonce) === mint;
        return { mint, fate: isReleased ? ('released' as const) : random.pick(fates) };
      });
    const own = mints.map(({ mint, fate }) => transactionOf(mint, fate, this.#key));
    const transactions = [...own, { from: named('dave'), to: named('erin') }];
    const tx_index = own.length;
    const block = this.#chain.append({
      transactions,
      effects: [
        ...own.flatMap(({ to, amount }, at) =>
          mints[at]?.fate === 'failed' || mints[at]?.fate === 'taken'
            ? []
            : [{ address: to, kind: 'mint', delta: amount, tx_index: at }],
        ),
        { address: named('dave'), kind: 'transfer_out', delta: -9n, tx_index },
        { address: named('erin'), kind: 'transfer_in', delta: 9n, tx_index },
        { address: named('erin'), kind: 'burn', delta: -BigInt(random.below(5)), tx_index },
        ...transactions.map((_, at) => feePaid(at)),
        { address: PRODUCER, kind: 'tx_fee_earned', delta: 3n * BigInt(transactions.length) },
        { address: named('pool'), kind: 'block_reward', delta: -1n },
        { address: PRODUCER, kind: 'block_reward', delta: 1n },
      ],
    });
    this.#chain.finalize();
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
      const by = { sequence: 0, decided_at: this.#now, actor: 'alice', reason: 'it was me' };
      const at_block = { tx_hash: hash, to, amount, block_height: block.height };
      this.#write([{ type: 'MintAcknowledged', ...by, ...at_block }]);
    }
  }

  get #isOpen(): boolean {
    const run = this.#runs.at(-1);
    return runForbids(run) === undefined;
  }

  /** A run, by a clock of its own; now and then money is missing, or there is too much. */
  #measure(): ReserveReconciled | undefined {
    for (const event of this.#chain.log.slice(Number(this.#supply.end)))
      this.#supply.apply(event, BigInt(event.sequence));
    const { final } = this.#supply;
    if (final === undefined) return undefined;
    const at = ledgerPosition(this.#ledger, this.#supply, final);
    const whole = -surplusOf(positionOf(at, final, 0n));
    const change = this.#random.pick([0n, 0n, 0n, 2n * USD, -30n * USD, -10_000n * USD]);
    const custody = whole + change < 0n ? 0n : whole + change;
    const position = positionOf(at, final, custody);
    return {
      type: 'ReserveReconciled',
      run_id: `run ${this.#runs.length}`,
      run_at: this.#now + this.#skew,
      begun_at: this.#now + this.#skew - 90_000,
      oldest_reading_at: 0,
      ledger_offset: Number(this.#ledger.end),
      block_height: final.height,
      block_hash: final.hash,
      ...position,
      status: statusOf(position, TOLERANCE),
    };
  }

  /** Each for the end of the ledger; signed, where operators are in force. */
  #write(events: readonly TreasuryEvent[]): void {
    for (const event of events) {
      const placed = { ...event, sequence: Number(this.#ledger.end) };
      const isSigned = 'actor' in placed && this.#ledger.governance.operators !== undefined;
      const written = isSigned ? signed(placed) : placed;
      this.#log.push(written);
      if (this.#ledger.apply(written, this.#ledger.end) !== 'applied')
        throw new Error(`${event.type} has no effect`);
    }
  }
}

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

function addressOf({ address }: Key): Buffer {
  return parseAddress(address) ?? Buffer.alloc(0);
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

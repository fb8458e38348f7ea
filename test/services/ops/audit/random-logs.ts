/**
 * Seeded logs of a correct treasury: changed settings, decisions of people, failed mints, and
 * nonces used by somebody else.
 */
import { confirmAll, setPolicy } from '../../../../projections/deposits/domain/confirmation.ts';
import { Ledger, type RequestedMint } from '../../../../projections/deposits/domain/ledger.ts';
import { approve, reject } from '../../../../projections/deposits/domain/approval.ts';
import {
  conclude,
  intend,
  type FinalTransaction,
} from '../../../../projections/deposits/domain/minting.ts';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { ChainByHand, named } from '../../../support/chain-by-hand.ts';
import { BEGIN, depositKey, USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { hashOf, HOUR_MS } from '../../../support/mint-ledger.ts';
import { Random } from '../../../support/random.ts';
import { ACCOUNTS, tellAddresses, type Logs } from './audited.ts';

const AUTHORITY = named('authority');
const USD = 1_000_000n;
const ROUNDS = 12;
const LIMITS = { ...NETWORK_LIMITS.testnet, single_cap: 15n * USD, rolling_cap: 40n * USD };

class RandomTreasury {
  readonly #random: Random;
  readonly #ledger = new Ledger();
  readonly #log: TreasuryEvent[] = [];
  readonly #chain = new ChainByHand();
  readonly #transfers: Recorded<TransferObserved>[] = [];
  readonly #ends = new Map<number, bigint>();
  readonly #final = new Map<number, FinalTransaction>();
  #now = BEGIN;

  constructor(seed: number) {
    this.#random = new Random(seed);
    tellAddresses(this.#ledger.addresses);
    this.#chain.append();
  }

  get logs(): Logs {
    return { transfers: this.#transfers, ledger: this.#log, chain: this.#chain.log };
  }

  round(): void {
    const random = this.#random;
    this.#now += random.below(8) * HOUR_MS;
    const single_cap = BigInt(10 + random.below(10)) * USD;
    if (this.#log.length === 0 || random.chance(0.3))
      this.#setPolicy(this.#log.length === 0 ? LIMITS : { ...LIMITS, single_cap });
    this.#pay(1 + random.below(4));
    this.#decide();
    const most = 1 + random.below(4);
    this.#write(
      intend(this.#ledger, { now: this.#now, final_nonce: this.#final.size, hash_of: hashOf, most })
        .events,
    );
    if (random.chance(0.8)) this.#block();
    this.#write(
      conclude(this.#ledger, (nonce) => this.#final.get(nonce), { now: this.#now, most: 3 }).events,
    );
  }

  #setPolicy(limits: typeof LIMITS): void {
    const decision = setPolicy(this.#ledger, { network: 'testnet', limits }, this.#now);
    if ('events' in decision) this.#write(decision.events);
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
    for (const [id, { status }] of this.#ledger.deposits) {
      if (status !== 'needs_manual' || this.#random.chance(0.6)) continue;
      const person = { deposit_id: id, actor: 'alice', reason: 'so it is', now: this.#now };
      const decision = (this.#random.chance(0.7) ? approve : reject)(this.#ledger, person);
      if ('events' in decision) this.#write(decision.events);
    }
  }

  /** Requested mints in nonce order; some fail, and some nonces are used by somebody else. */
  #block(): void {
    const mints = [...this.#ledger.live.values()].filter(({ nonce }) => !this.#final.has(nonce));
    const fates = mints.map((mint) => ({
      mint,
      fate: this.#random.pick(['minted', 'minted', 'minted', 'failed', 'taken'] as const),
    }));
    const block = this.#chain.append({
      transactions: fates.map(({ mint, fate }) => transactionOf(mint, fate)),
      effects: fates.flatMap(({ mint: { to, amount }, fate }, tx_index) =>
        fate === 'minted' ? [{ address: to, kind: 'mint', delta: amount, tx_index }] : [],
      ),
    });
    this.#chain.finalize();
    for (const { mint, fate } of fates) {
      const { hash } = transactionOf(mint, fate);
      const minted = fate === 'minted' ? mint : undefined;
      this.#final.set(mint.nonce, {
        tx_hash: hash,
        block_height: block.height,
        block_hash: block.hash,
        minted,
      });
    }
  }

  #write(events: readonly TreasuryEvent[]): void {
    for (const event of events) {
      this.#log.push(event);
      if (this.#ledger.apply(event, this.#ledger.end) !== 'applied')
        throw new Error(`${event.type} has no effect`);
    }
  }
}

function transactionOf(
  { nonce, to, amount, tx_hash }: RequestedMint,
  fate: 'minted' | 'failed' | 'taken',
) {
  const hash = fate === 'taken' ? named(`somebody ${nonce}`, 32) : tx_hash;
  return {
    from: AUTHORITY,
    to,
    amount,
    nonce,
    hash,
    function_call_type: fate === 'taken' ? 'Transfer' : 'Mint',
  };
}

const made = new Map<number, Logs>();

/** The same for the same seed. */
export function randomLogs(seed: number): Logs {
  const known = made.get(seed);
  if (known !== undefined) return known;
  const treasury = new RandomTreasury(seed);
  for (let round = 0; round < ROUNDS; round++) treasury.round();
  made.set(seed, treasury.logs);
  return treasury.logs;
}

/**
 * A correct treasury, step by step, as a test says; the logs that it and its surroundings write.
 *
 *     const treasury = new TreasuryByHand();
 *     treasury.pay(0, 10n * USD);
 *     treasury.mint();
 *     treasury.run();
 *     audited(treasury.logs)
 */
import { confirmAll } from '../../../../projections/deposits/domain/confirmation.ts';
import type { RequestedMint } from '../../../../projections/deposits/domain/ledger.ts';
import {
  conclude,
  intend,
  mintCallOf,
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
import type { BlockAppended, BlockTransaction } from '../../../../schemas/chain.blocks/events.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import {
  ChainByHand,
  named,
  signedCall,
  type TransactionByHand,
} from '../../../support/chain-by-hand.ts';
import { BEGIN, openLedger, USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { alice, operatorsSet, signed } from '../../../support/operators.ts';
import { transferTo } from '../../treasury/world.ts';
import { ACCOUNTS, type Logs } from './audited.ts';

const FIRST_KEY = deriveKey('audit', 'authority 1');
export const AUTHORITY = addressOf(FIRST_KEY);
export const USD = 1_000_000n;
export const CUSTODY = named('custody');
const MINUTE_MS = 60_000;
/** CLT that the first block creates, in base units. */
export const GENESIS = 1_000n * USD;

/** The transaction of a mint, as this key signs it. */
export function signedMint(
  key: Key,
  { nonce, to, amount, reference }: MintCall,
): TransactionByHand & Pick<BlockTransaction, 'hash' | 'amount'> {
  const args = { to: toHex(to), amount, reference: toHex(reference) };
  const { hash, ...transaction } = signedCall(key, nonce, {
    function_call_type: 'Mint',
    arguments: args,
  });
  if (hash === undefined) throw new Error('a signed call has a hash');
  return { ...transaction, hash, amount };
}

export function addressOf({ address }: Key): Buffer {
  return parseAddress(address) ?? Buffer.alloc(0);
}

export class TreasuryByHand {
  readonly ledger = openLedger(ACCOUNTS);
  readonly chain = new ChainByHand();
  now = BEGIN;
  /** of the mint authority */
  key = FIRST_KEY;
  readonly #log: TreasuryEvent[] = [];
  readonly #transfers: Recorded<TransferObserved>[] = [];
  readonly #runs: ReserveReconciled[] = [];
  readonly #supply = new ChainSupply();

  /** With a chain of one final block. */
  constructor(limits = NETWORK_LIMITS.testnet) {
    this.chain.append({ effects: [{ address: named('genesis'), kind: 'mint', delta: GENESIS }] });
    this.chain.finalize();
    const of = { sequence: 0, version: 1, network: 'testnet', decided_at: BEGIN };
    this.write([{ type: 'PolicySet', ...of, ...limits }]);
  }

  get logs(): Logs {
    return {
      transfers: this.#transfers,
      ledger: this.#log,
      chain: this.chain.log,
      runs: this.#runs,
    };
  }

  /** Each for the end of the ledger; a person's is signed once an operator is in force. */
  write(events: readonly TreasuryEvent[]): void {
    for (const event of events) {
      const placed = { ...event, sequence: Number(this.ledger.end) };
      const isSigned = 'actor' in placed && this.ledger.governance.operators !== undefined;
      const written = isSigned ? signed(placed, alice) : placed;
      this.#log.push(written);
      if (this.ledger.apply(written, this.ledger.end) !== 'applied')
        throw new Error(`${event.type} has no effect`);
    }
  }

  pass(minutes: number): void {
    this.now += minutes * MINUTE_MS;
  }

  /** Persons decide with signatures from here on. */
  begin(): void {
    const by = { sequence: 0, decided_at: this.now, actor: 'alice', reason: 'to begin' };
    this.write([
      operatorsSet(alice),
      {
        type: 'CustodyPinned',
        ...by,
        version: 1,
        usdt_contract: USDT_CONTRACT,
        custody_addresses: [CUSTODY],
      },
      { type: 'AuthoritySet', ...by, version: 1, authority: addressOf(this.key) },
    ]);
  }

  /** A transfer to the address of this account is confirmed, and held where it must be. */
  pay(account: number, value: bigint, change: Partial<TransferObserved> = {}): void {
    const event = transferTo(account, value, change);
    const partition = transferPartition(event.to);
    const before = this.#transfers.filter((each) => each.partition === partition);
    this.#transfers.push({
      event,
      partition,
      offset: BigInt(before.length),
      timestamp: this.now,
    });
    const deciding = { now: this.now, usdt_contract: USDT_CONTRACT, custody_addresses: [] };
    this.write(confirmAll(this.ledger, this.#transfers, deciding).events);
  }

  /** Due mints are requested, final and credited. */
  mint(): void {
    this.request();
    this.conclude(this.mine([...this.ledger.live.values()]));
  }

  /** `final_nonce`: of the chain. */
  request(final_nonce = 0, most = 100): void {
    const hashOf = (call: MintCall): Buffer => signedMint(this.key, call).hash;
    this.write(intend(this.ledger, { now: this.now, final_nonce, hashOf: hashOf, most }).events);
  }

  /** A final block that carries out these mints. */
  mine(mints: readonly RequestedMint[]): BlockAppended {
    const block = this.chain.append({
      transactions: mints.map((mint) => signedMint(this.key, mintCallOf(mint))),
      effects: mints.map(({ to, amount }, tx_index) => ({
        address: to,
        kind: 'mint',
        delta: amount,
        tx_index,
      })),
    });
    this.chain.finalize();
    return block;
  }

  /** The mints in flight are in this block. */
  conclude(block: BlockAppended): void {
    const finalAt = (nonce: number) => {
      const mint = this.ledger.live.get(nonce);
      return mint === undefined
        ? undefined
        : {
            tx_hash: mint.tx_hash,
            block_height: block.height,
            block_hash: block.hash,
            minted: mint,
          };
    };
    this.write(conclude(this.ledger, finalAt, { now: this.now, most: 100 }).events);
  }

  /** As `measured`, and it is in the log. */
  run(more = 0n, change: Partial<ReserveReconciled> = {}): void {
    this.publish(this.measured(more, change));
  }

  publish(run: ReserveReconciled): void {
    this.#runs.push(run);
  }

  /** A run that finds in custody what it should, and `more`; with figures that are changed. */
  measured(more = 0n, change: Partial<ReserveReconciled> = {}): ReserveReconciled {
    for (const event of this.chain.log.slice(Number(this.#supply.end)))
      this.#supply.apply(event, BigInt(event.sequence));
    const { final } = this.#supply;
    if (final === undefined) throw new Error('no block is final');
    const at = ledgerPosition(this.ledger, this.#supply, final);
    const custody = more - surplusOf(positionOf(at, final, 0n));
    const position = positionOf(at, final, custody < 0n ? 0n : custody);
    return {
      type: 'ReserveReconciled',
      run_id: `run ${this.#runs.length}`,
      run_at: this.now,
      begun_at: this.now - MINUTE_MS,
      oldest_reading_at: this.now - MINUTE_MS,
      ledger_offset: Number(this.ledger.end),
      ledger_head: this.ledger.head,
      block_height: final.height,
      block_hash: final.hash,
      ...position,
      status: statusOf(position, USD),
      ...change,
    };
  }
}

/**
 * I2 and I3 on the chain: the ledger requested or acknowledged every Mint of a final block, once
 * for each deposit, and every credit is such a Mint. Once the ledger names its mint authority, the
 * bytes of each transaction of it prove that it is one. I11: the supply of final blocks, effect by
 * effect. Up to the height of a baseline, the supply that it states stands for all effects.
 */
import {
  readEffects,
  type BlockEffects,
  type Mint,
} from '../../../projections/chain/block-effects.ts';
import { bytesKey, toHex } from '../../../schemas/address.ts';
import { whyForged } from '../../../projections/chain/sender.ts';
import { ChainSupply, type FinalSupply } from '../../../projections/reserve/supply.ts';
import type { BlockAppended, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_RULES } from '../../../schemas/chain.blocks/rules.ts';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import type { Findings, LogPosition } from './findings.ts';
import type { Intent, LedgerAudit } from './ledger-audit.ts';

interface PendingBlock extends BlockEffects {
  readonly block: Pick<BlockAppended, 'height' | 'hash'>;
  readonly position: LogPosition;
  /** hashes in hex of transactions that replaced a mint */
  readonly replacements: readonly string[];
  /** whether the bytes of each transaction of a mint authority prove it, or why not */
  readonly proofs: readonly (string | undefined)[];
}

/** A transaction that took the nonce of a mint that was given up. */
interface Replacement {
  readonly nonce: number;
  /** of the final block that has it */
  height: number | undefined;
}

export type ChainClaims = Pick<
  LedgerAudit,
  'intents' | 'authorities' | 'acknowledged' | 'baseline'
>;

export class ChainAudit {
  readonly #findings: Findings;
  readonly #ledger: ChainClaims;
  readonly supply: ChainSupply;
  #isBroken = false;
  /** blocks that are not final, by height */
  readonly #pending = new Map<number, PendingBlock>();
  /** Mints in final blocks, by deposit */
  readonly #minted = new Map<
    string,
    { readonly hash: string; readonly block: PendingBlock['block'] }
  >();
  /** hashes in hex of acknowledged Mints in final blocks */
  readonly #acknowledged = new Set<string>();
  /** by hash in hex */
  readonly #replacements: ReadonlyMap<string, Replacement>;
  /** the supply after the newest final block */
  #created = 0n;
  /** in final blocks */
  mints = 0;

  /**
   * `ledger`: the whole, whose end was taken after the end of the chain. `onFinal` gets the supply
   * at every final block.
   */
  constructor(ledger: ChainClaims, findings: Findings, onFinal: (final: FinalSupply) => void) {
    this.#ledger = ledger;
    this.#findings = findings;
    this.supply = new ChainSupply(onFinal);
    const givenUp = [...ledger.intents.values()].flatMap(
      ({ nonce, given_up_for: givenUpFor }): [string, Replacement][] =>
        givenUpFor === undefined
          ? []
          : [[givenUpFor.tx_hash.toString('hex'), { nonce, height: undefined }]],
    );
    this.#replacements = new Map(givenUp);
  }

  get #finalHeight(): number {
    return this.supply.final?.height ?? -1;
  }

  /**
   * Every record, in order; nothing is judged behind an impossible one. `isSkipped`: whether a
   * person has skipped this one.
   */
  apply(event: ChainEvent, offset: bigint, isSkipped: () => boolean = () => false): void {
    if (this.#isBroken) return;
    const position = { topic: CHAIN_BLOCKS.name, partition: 0, offset };
    this.#findings.rules(CHAIN_RULES, event, position);
    const before = this.#finalHeight;
    const verdict = this.supply.apply(event, offset);
    if (typeof verdict === 'object') {
      if (isSkipped()) return;
      this.#isBroken = true;
      const check = this.#findings.at(position);
      check('I2', false, () => `the chain cannot be right: ${verdict.broken}`);
    }
    if (verdict !== 'applied') return;
    switch (event.type) {
      case 'BlockAppended':
        this.#pending.set(event.height, {
          block: { height: event.height, hash: event.hash },
          position,
          ...readEffects(event),
          replacements: this.#replacementsIn(event),
          proofs: this.#proofsIn(event),
        });
        return;
      case 'BlockReverted':
        this.#pending.delete(event.height);
        return;
      case 'BlocksFinalized':
        for (let height = before + 1; height <= event.height; height++) {
          const pending = this.#pending.get(height);
          if (pending !== undefined) this.#finalBlock(pending);
          this.#pending.delete(height);
        }
    }
  }

  #replacementsIn({ transactions }: BlockAppended): readonly string[] {
    if (this.#replacements.size === 0) return [];
    return transactions
      .filter(({ hash, nonce, from }) => {
        const replaced = this.#replacements.get(hash.toString('hex'));
        return replaced?.nonce === nonce && this.#mayMint(from);
      })
      .map(({ hash }) => hash.toString('hex'));
  }

  #proofsIn({ transactions }: BlockAppended): readonly (string | undefined)[] {
    const { authorities, intents } = this.#ledger;
    if (authorities.size === 0) return [];
    // the bytes of an intent's hash are those that the treasury signed
    const hasSigned = (hash: Buffer): boolean => intents.has(hash.toString('hex'));
    return transactions
      .filter(({ from }) => authorities.has(bytesKey(from)))
      .map((each) => {
        const why = whyForged(each, { address: each.from, hasSigned });
        return why === undefined ? undefined : `${toHex(each.hash)} is forged: ${why}`;
      });
  }

  #finalBlock(pending: PendingBlock): void {
    const { block, position, mints, problem } = pending;
    this.#created += pending.change;
    for (const hash of pending.replacements) {
      const replacement = this.#replacements.get(hash);
      if (replacement !== undefined) replacement.height = block.height;
    }
    const { baseline } = this.#ledger;
    if (baseline?.event.block_height === block.height) this.#checkBaseline(block, baseline);
    if (baseline !== undefined && block.height <= baseline.event.block_height) return;
    // the first block creates the genesis allocation
    if (block.height > 0)
      this.#findings.check(
        'I11',
        position,
        problem === undefined,
        () => `in block ${block.height} ${problem}`,
      );
    for (const forged of pending.proofs)
      this.#findings.check('I2', position, forged === undefined, () => `transaction ${forged}`);
    for (const mint of mints) this.#finalMint(mint, pending);
  }

  #checkBaseline(
    { height, hash }: PendingBlock['block'],
    { event, offset }: NonNullable<ChainClaims['baseline']>,
  ): void {
    const supply = this.#created;
    this.#findings.check(
      'I11',
      ledgerAt(offset),
      event.supply === supply && event.block_hash.equals(hash),
      () =>
        `the baseline says ${event.supply} at block ${height} ${toHex(event.block_hash)}; the chain has ${supply} at ${toHex(hash)}`,
    );
  }

  #finalMint(mint: Mint, { position, block }: PendingBlock): void {
    const hash = mint.hash.toString('hex');
    const intent = this.#ledger.intents.get(hash);
    const check = this.#findings.at(position);
    // a failed Mint of somebody else concerns nobody
    if (intent === undefined && !mint.done && !this.#mayMint(mint.from)) return;
    this.mints++;
    // also one that was requested and given up
    const isKnown = intent !== undefined || this.#ledger.acknowledged.has(hash);
    check('I2', isKnown, () => `Mint 0x${hash} was never requested in the ledger`);
    if (this.#isAcknowledged(mint, block.height) || intent === undefined) return;
    const other = this.#minted.get(intent.deposit_id);
    if (mint.done) this.#minted.set(intent.deposit_id, { hash, block });
    check(
      'I2',
      other === undefined || !mint.done,
      () => `deposit ${intent.deposit_id} is minted twice: by 0x${other?.hash} and 0x${hash}`,
    );
    check(
      'I2',
      intent.outcome !== 'dead' && (!isGivenUp(intent) || !mint.done),
      () =>
        `Mint 0x${hash} of deposit ${intent.deposit_id} is final, and the ledger has given it up`,
    );
    const isSame =
      !mint.done ||
      (mint.amount === intent.amount && mint.to.equals(intent.to) && mint.nonce === intent.nonce);
    check(
      'I3',
      isSame,
      () => `Mint 0x${hash} is not what was requested for deposit ${intent.deposit_id}`,
    );
  }

  /** Older ledgers do not name their mint authority. */
  #mayMint(account: Buffer): boolean {
    const { authorities } = this.#ledger;
    return authorities.size === 0 || authorities.has(bytesKey(account));
  }

  #isAcknowledged({ hash, to, amount, done }: Mint, height: number): boolean {
    const key = hash.toString('hex');
    const event = this.#ledger.acknowledged.get(key)?.event;
    const isIt =
      done &&
      event?.amount === amount &&
      event.to.equals(to) &&
      event.block_height === height &&
      !this.#acknowledged.has(key);
    if (isIt) this.#acknowledged.add(key);
    return isIt;
  }

  /** The records that claimed a mint which the treasury or operators have voided since. */
  #checkVoid(hash: string, { deposit_id, offset, credited_at, is_foreign }: Intent): void {
    const what = (): string =>
      `deposit ${deposit_id} had the mint 0x${hash}, which the chain does not have; it is void since`;
    if (is_foreign) this.#findings.check('I2', ledgerAt(offset), false, what);
    if (credited_at !== undefined)
      this.#findings.check('I2', ledgerAt(credited_at), this.#isFinal(deposit_id, hash), what);
  }

  #isFinal(deposit_id: string, hash: string): boolean {
    return this.#minted.get(deposit_id)?.hash === hash;
  }

  /** After the last record: every credit is minted, as far as the chain's log goes. */
  finish(): void {
    for (const [hash, intent] of this.#ledger.intents) {
      const { deposit_id, outcome, block, offset, given_up_for: givenUpFor } = intent;
      if (givenUpFor !== undefined && givenUpFor.height <= this.#finalHeight)
        this.#findings.check(
          'I2',
          ledgerAt(givenUpFor.offset),
          this.#replacements.get(givenUpFor.tx_hash.toString('hex'))?.height === givenUpFor.height,
          () =>
            `the mint of deposit ${deposit_id} was given up for ${toHex(givenUpFor.tx_hash)}, which did not use its nonce in final block ${givenUpFor.height}`,
        );
      if (outcome === 'void') this.#checkVoid(hash, intent);
      if (outcome !== 'credited' || block === undefined) continue;
      // a block that became final after the chain was read; one of the far future never does
      const above = block.height - this.#finalHeight;
      if (above > 0 && above <= AHEAD_MAX) continue;
      const minted = this.#minted.get(deposit_id);
      const isMinted =
        minted?.hash === hash &&
        minted.block.height === block.height &&
        minted.block.hash.equals(block.hash);
      this.#findings.check(
        'I2',
        ledgerAt(offset),
        isMinted,
        () =>
          `deposit ${deposit_id} is credited by 0x${hash} in block ${block.height}, which the chain does not have`,
      );
    }
    for (const [hash, { event, offset }] of this.#ledger.acknowledged)
      if (event.block_height <= this.#finalHeight)
        this.#findings.check(
          'I2',
          ledgerAt(offset),
          this.#acknowledged.has(hash),
          () =>
            `Mint 0x${hash} is acknowledged, which block ${event.block_height} does not have like that`,
        );
  }
}

/** Blocks that may become final while an audit reads. */
const AHEAD_MAX = 10_000;

/** Whether a Mint may be in a block that did not carry it out; a dead one is in none. */
function isGivenUp({ outcome }: Intent): boolean {
  return outcome === 'failed' || outcome === 'released' || outcome === 'void';
}

function ledgerAt(offset: bigint): LogPosition {
  return { topic: TREASURY_LEDGER.name, partition: 0, offset };
}

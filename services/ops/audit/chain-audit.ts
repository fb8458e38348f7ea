/**
 * I2 and I3 on the chain: the ledger requested every Mint of a final block, once for each deposit,
 * and every credit is such a Mint.
 */
import { EMPTY_CHAIN, evolve, type Chain } from '../../../projections/chain/chain.ts';
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import type { Findings, LogPosition } from './findings.ts';
import type { Intent } from './ledger-audit.ts';

interface PendingBlock {
  readonly block: Pick<BlockAppended, 'height' | 'hash'>;
  readonly position: LogPosition;
  readonly mints: readonly Mint[];
  /** hashes in hex of transactions that replaced a mint */
  readonly replacements: readonly string[];
}

interface Mint extends Pick<BlockTransaction, 'hash' | 'nonce' | 'to' | 'amount'> {
  /** whether it moved a balance */
  readonly done: boolean;
}

export class ChainAudit {
  readonly #findings: Findings;
  readonly #intents: ReadonlyMap<string, Intent>;
  #chain: Chain = EMPTY_CHAIN;
  /** blocks that are not final, by height */
  readonly #pending = new Map<number, PendingBlock>();
  /** Mints in final blocks, by deposit */
  readonly #minted = new Map<
    string,
    { readonly hash: string; readonly block: PendingBlock['block'] }
  >();
  /**
   * Transactions that took the nonce of a mint that was given up, by hash in hex: their height once
   * they are final.
   */
  readonly #replacements: Map<string, number | undefined>;
  /** in final blocks */
  mints = 0;

  /** `intents` of the whole ledger, whose end was taken after the end of the chain. */
  constructor(intents: ReadonlyMap<string, Intent>, findings: Findings) {
    this.#intents = intents;
    const givenUp = [...intents.values()].flatMap(({ given_up_for: other }) =>
      other === undefined ? [] : [other.tx_hash.toString('hex')],
    );
    this.#replacements = new Map(givenUp.map((hash) => [hash, undefined]));
    this.#findings = findings;
  }

  get #finalHeight(): number {
    return this.#chain.status === 'empty' ? -1 : this.#chain.finalized_height;
  }

  apply(event: ChainEvent, offset: bigint): void {
    const position = { topic: CHAIN_BLOCKS.name, partition: 0, offset };
    const check = this.#findings.at(position);
    const judged = evolve(this.#chain, event, offset);
    if (judged.verdict === 'broken')
      check('I2', false, () => `the chain cannot be right: ${judged.reason}`);
    if (judged.verdict !== 'applied') return;
    const before = this.#finalHeight;
    this.#chain = judged.chain;
    if (event.type === 'BlockAppended')
      this.#pending.set(event.height, {
        block: event,
        position,
        mints: mintsIn(event),
        replacements: this.#replacementsIn(event),
      });
    if (event.type === 'BlockReverted') this.#pending.delete(event.height);
    if (event.type !== 'BlocksFinalized') return;
    for (let height = before + 1; height <= event.height; height++) {
      const pending = this.#pending.get(height);
      if (pending === undefined) continue;
      for (const mint of pending.mints) this.#final(mint, pending);
      for (const hash of pending.replacements) this.#replacements.set(hash, height);
      this.#pending.delete(height);
    }
  }

  #replacementsIn({ transactions }: BlockAppended): readonly string[] {
    if (this.#replacements.size === 0) return [];
    return transactions
      .map(({ hash }) => hash.toString('hex'))
      .filter((hash) => this.#replacements.has(hash));
  }

  #final(mint: Mint, { position, block }: PendingBlock): void {
    const hash = mint.hash.toString('hex');
    const intent = this.#intents.get(hash);
    const check = this.#findings.at(position);
    this.mints++;
    check('I2', intent !== undefined, () => `Mint 0x${hash} was never requested in the ledger`);
    if (intent === undefined) return;
    const other = this.#minted.get(intent.deposit_id);
    if (mint.done) this.#minted.set(intent.deposit_id, { hash, block });
    check(
      'I2',
      other === undefined || !mint.done,
      () => `deposit ${intent.deposit_id} is minted twice: by 0x${other?.hash} and 0x${hash}`,
    );
    check(
      'I2',
      intent.outcome !== 'dead' && (intent.outcome !== 'failed' || !mint.done),
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

  /** After the last record: every credit is minted, as far as the chain's log goes. */
  finish(): void {
    for (const [hash, { deposit_id, outcome, block, offset, given_up_for: other }] of this
      .#intents) {
      if (other !== undefined && other.height <= this.#finalHeight)
        this.#findings.check(
          'I2',
          { topic: TREASURY_LEDGER.name, partition: 0, offset: other.offset },
          this.#replacements.get(other.tx_hash.toString('hex')) === other.height,
          () =>
            `the mint of deposit ${deposit_id} was given up for 0x${other.tx_hash.toString('hex')}, which is not in final block ${other.height}`,
        );
      // a block that became final after the chain was read
      if (outcome !== 'credited' || block === undefined || block.height > this.#finalHeight)
        continue;
      const position = { topic: TREASURY_LEDGER.name, partition: 0, offset };
      const minted = this.#minted.get(deposit_id);
      const isMinted =
        minted?.hash === hash &&
        minted.block.height === block.height &&
        minted.block.hash.equals(block.hash);
      this.#findings.check(
        'I2',
        position,
        isMinted,
        () =>
          `deposit ${deposit_id} is credited by 0x${hash} in block ${block.height}, which the chain does not have`,
      );
    }
  }
}

function mintsIn({ transactions, balance_effects: effects }: BlockAppended): readonly Mint[] {
  return transactions
    .filter(({ function_call_type: type }) => type === 'Mint')
    .map(({ hash, nonce, to, amount, index }) => {
      const done = effects.some(
        (effect) =>
          effect.tx_index === index &&
          effect.kind === 'mint' &&
          effect.delta === amount &&
          effect.address.equals(to),
      );
      return { hash, nonce, to, amount, done };
    });
}

/**
 * Which records of a topic have an effect, by the rules of its readers (`projections`): none has
 * a record that is repeated, lost a race or does not follow from those before it. A block that is
 * reverted, and its revert, have none either: what is left is the chain as it stands.
 */
import { isInPlace } from '../../../projections/chain/chain.ts';
import { AddressBook } from '../../../projections/deposits/domain/address-book.ts';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { Queue } from '../../../projections/watch/queue.ts';
import { Transfers } from '../../../projections/watch/watch.ts';
import { isChainEvent, type ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { BrokenChain, hashOfValue } from '../../../schemas/hash-chain.ts';
import { HEADER_RULES } from '../../../schemas/chain.blocks/rules.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import { RUN_RULES } from '../../../schemas/reserve.runs/rules.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { isTreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { isTransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { learnSchemas } from '../../runtime/kafka/decode.ts';
import { readLogBatches } from '../../runtime/kafka/range.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { Fault } from '../../runtime/process/errors.ts';

interface Block {
  readonly height: number;
  readonly offset: bigint;
}

/** The records of one partition. Those that this version cannot decode are left in. */
class PartitionEffects {
  readonly #codec: Decoder;
  readonly #partition: number;
  /** offsets of the records left out */
  readonly #without = new Set<bigint>();
  /** the offset after the last record judged */
  #end = 0n;
  /** in the log, and neither final nor reverted */
  #blocks: Block[] = [];
  readonly #addresses = new AddressBook();
  readonly #ledger = new Ledger();
  readonly #transfers = new Transfers({});
  readonly #checks = new Queue([]);
  readonly #runs = new Set<string>();

  constructor(codec: Decoder, partition: number) {
    this.#codec = codec;
    this.#partition = partition;
  }

  /** Whether the record is shown. Those above the last known one have to come in order. */
  has(record: LogRecord, isFollowed: boolean): boolean {
    const { offset } = record;
    if (offset >= this.#end) {
      this.#end = offset + 1n;
      if (!this.#hasEffect(record, isFollowed)) this.#without.add(offset);
    }
    return !this.#without.has(offset);
  }

  /** A record that does not follow from those before it has no effect: a fold halts there. */
  #hasEffect(record: LogRecord, isFollowed: boolean): boolean {
    try {
      return this.#judge(record, isFollowed);
    } catch (error) {
      if (error instanceof BrokenChain) return false;
      throw error;
    }
  }

  #judge(record: LogRecord, isFollowed: boolean): boolean {
    const { offset, value } = record;
    let event;
    try {
      event = this.#codec.decode(value, record.headers);
    } catch (error) {
      if (error instanceof Fault) return true;
      throw error;
    }
    if (isChainEvent(event)) return this.#chain(event, offset, isFollowed);
    if (isDepositAddressEvent(event))
      return this.#addresses.apply(event, offset, hashOfValue(value)) === 'applied';
    if (isTreasuryEvent(event))
      return this.#ledger.apply(event, offset, hashOfValue(value)) === 'applied';
    if (isTransferEvent(event)) {
      const verdict =
        event.type === 'TransferObserved'
          ? this.#transfers.add(event, this.#partition, offset)
          : this.#checks.check(event, this.#partition);
      return verdict === 'applied';
    }
    if (!isReserveEvent(event)) return true;
    if (brokenRule(RUN_RULES, event) !== undefined) return false;
    const isNew = !this.#runs.has(event.run_id);
    this.#runs.add(event.run_id);
    return isNew;
  }

  /** A block that was shown before it was reverted keeps its revert. */
  #chain(event: ChainEvent, offset: bigint, isFollowed: boolean): boolean {
    if (!isInPlace(event, offset) || brokenRule(HEADER_RULES, event) !== undefined) return false;
    switch (event.type) {
      case 'BlockAppended':
        this.#blocks.push({ height: event.height, offset });
        return true;
      case 'BlockReverted': {
        const block = this.#blocks.pop();
        if (block !== undefined && !isFollowed) this.#without.add(block.offset);
        return isFollowed;
      }
      case 'BlocksFinalized':
        this.#blocks = this.#blocks.filter(({ height }) => height > event.height);
        return true;
    }
  }
}

export class Effects {
  readonly #codec: Decoder;
  readonly #partitions = new Map<number, PartitionEffects>();
  #isFollowed = false;

  constructor(codec: Decoder) {
    this.#codec = codec;
  }

  /**
   * Reads these partitions from their beginning to their present end, so that a revert behind the
   * shown range counts too. `onRecords`: how many were read, of all; `retrying`: as for ranges of
   * the log. Throws faults.
   */
  async read(
    kafka: Kafka,
    topic: string,
    partitions: readonly number[],
    onRecords: (read: number, all: number) => void,
    retrying?: Retrying,
  ): Promise<void> {
    const ends = await withAdmin(kafka, (admin) => admin.ends(topic));
    const chosen = ends.filter(({ partition }) => partitions.includes(partition));
    const all = chosen.reduce((sum, { low, high }) => sum + Number(high - low), 0);
    let read = 0;
    for (const { partition, low: from, high: to } of chosen)
      await readLogBatches(kafka, { topic, partition, from, to, retrying }, async (records) => {
        await learnSchemas(this.#codec, { topic, partition, records });
        for (const record of records) this.has(partition, record);
        onRecords((read += records.length), all);
      });
    this.#isFollowed = true;
  }

  /** Whether the record is shown; its schema is learnt. Unknown ones have to come in order. */
  has(partition: number, record: LogRecord): boolean {
    const effects = this.#partitions.get(partition) ?? new PartitionEffects(this.#codec, partition);
    this.#partitions.set(partition, effects);
    return effects.has(record, this.#isFollowed);
  }
}

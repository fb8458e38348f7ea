/** Single records of `tron.transfers`, read again for what the ledger says of them. */
import { isTransferOf } from '../../../projections/deposits/domain/proof.ts';
import { isTransferEvent, type TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { DepositConfirmed } from '../../../schemas/treasury.ledger/events.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { endLost, recreated, type LogLost } from '../../runtime/kafka/position.ts';
import { readLogEvents } from '../../runtime/kafka/log-events.ts';

/** Records between two wanted ones that are read rather than skipped. */
const SPAN_MAX = 2_000n;

export interface TransferLogOptions {
  readonly kafka: Kafka;
  readonly codec: Pick<Codec, 'learn' | 'decode'>;
  readonly topic: string;
}

export class TransferLog {
  readonly #options: TransferLogOptions;

  constructor(options: TransferLogOptions) {
    this.#options = options;
  }

  /** The records at these offsets, as far as the log has them. Throws faults with retry. */
  async read(
    partition: number,
    offsets: readonly number[],
  ): Promise<ReadonlyMap<number, TransferEvent>> {
    const { kafka, topic } = this.#options;
    const { low, high } = await readLogEnds(kafka, topic, partition);
    const wanted = [...new Set(offsets)]
      .map(BigInt)
      .filter((offset) => offset >= low && offset < high)
      .toSorted((one, other) => (one < other ? -1 : 1));
    const found = new Map<number, TransferEvent>();
    for (let at = 0; at < wanted.length;) {
      const from = wanted[at] ?? 0n;
      const near = wanted.filter((offset) => offset >= from && offset < from + SPAN_MAX);
      at += near.length;
      const range = { topic, partition, from, to: (near.at(-1) ?? from) + 1n };
      await readLogEvents(this.#options, range, (event, { offset }) => {
        if (isTransferEvent(event)) found.set(Number(offset), event);
      });
    }
    return found;
  }

  /** The first of these deposits, all of one partition, whose transfer is where it says. */
  async firstTrue(deposits: readonly DepositConfirmed[]): Promise<DepositConfirmed | undefined> {
    for (const deposit of deposits) {
      const { transfer_partition: transferPartition, transfer_offset: transferOffset } = deposit;
      const records = await this.read(transferPartition, [transferOffset]);
      if (isTransferOf(deposit, records.get(transferOffset))) return deposit;
    }
    return undefined;
  }

  /**
   * By partition, the offset of the newest transfer that a deposit names truly; -1 where there is
   * none. Where deposits name transfers and no partition has one of them, the topic is not the one
   * that the ledger was written from. `newest`: deposits by partition.
   */
  async newestDecided(
    newest: readonly (readonly DepositConfirmed[])[],
  ): Promise<{ readonly decided: readonly number[] } | { readonly lost: LogLost }> {
    const [any] = newest.flat();
    const found = await Promise.all(newest.map((each) => this.firstTrue(each)));
    if (any !== undefined && found.every((each) => each === undefined))
      return { lost: await this.lossOf(any) };
    return { decided: found.map((each) => each?.transfer_offset ?? -1) };
  }

  /** How the log lacks the transfer of this deposit. Throws faults with retry. */
  async lossOf({ transfer_partition, transfer_offset }: DepositConfirmed): Promise<LogLost> {
    const { kafka, topic } = this.#options;
    const { high } = await readLogEnds(kafka, topic, transfer_partition);
    const offset = BigInt(transfer_offset);
    return offset < high
      ? recreated(topic, transfer_partition, offset)
      : endLost(topic, transfer_partition, high, offset + 1n);
  }
}

/** The three topics of deposits, whole, as an auditor reads them. */
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { isTransferEvent, type TransferEvent } from '../../schemas/tron.transfers/events.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import {
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../schemas/topics.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { readLogRange } from '../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import type { LogRecord } from '../../services/runtime/kafka/record.ts';
import { storedAs } from '../support/plain-chain.ts';

export const TOPICS = [DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER];

export interface DepositLogs {
  readonly addresses: readonly DepositAddressEvent[];
  /** by partition */
  readonly transfers: readonly (readonly TransferEvent[])[];
  readonly ledger: readonly TreasuryEvent[];
}

export async function readDepositLogs(kafka: Kafka, codec: Codec): Promise<DepositLogs> {
  const [addresses = []] = await readTopic(kafka, codec, DEPOSIT_ADDRESSES, isDepositAddressEvent);
  const transfers = await readTopic(kafka, codec, TRON_TRANSFERS, isTransferEvent);
  const [ledger = []] = await readTopic(kafka, codec, TREASURY_LEDGER, isTreasuryEvent);
  return { addresses, transfers, ledger };
}

/** Accounts in the order of their addresses: that of first requests after the scheme was pinned. */
export function ownersIn(addresses: readonly DepositAddressEvent[]): readonly Buffer[] {
  const pinned = addresses.findIndex(({ type }) => type === 'SchemePinned');
  const owners = new Map<string, Buffer>();
  for (const [offset, event] of addresses.entries()) {
    if (offset <= pinned || event.type !== 'AddressRequested') continue;
    const { clt_address: account, sequence = -1 } = event;
    // that of a lost race has no effect
    if (sequence !== -1 && sequence !== offset) continue;
    if (!owners.has(account.toString('hex'))) owners.set(account.toString('hex'), account);
  }
  return [...owners.values()];
}

/** First offset behind each partition of a topic. */
export async function endsOf(
  kafka: Kafka,
  { name, partitions }: Topic,
): Promise<readonly bigint[]> {
  const ends = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => readLogEnds(kafka, name, partition)),
  );
  return ends.map(({ high }) => high);
}

async function readTopic<Event extends { readonly type: string }>(
  kafka: Kafka,
  codec: Codec,
  topic: Topic,
  isEvent: (event: { readonly type: string }) => event is Event,
): Promise<readonly (readonly Event[])[]> {
  const read: Event[][] = [];
  for (const [partition, end] of (await endsOf(kafka, topic)).entries()) {
    const values: LogRecord['value'][] = [];
    await readLogRange(kafka, topic.name, partition, 0n, end, ({ value }) => values.push(value));
    await codec.learn(values);
    read.push(
      values.map((value, offset) => {
        const event = codec.decode(value);
        if (!isEvent(event))
          throw new Error(`${event.type} stands in ${topic.name} ${partition} at ${offset}`);
        return storedAs(event, value);
      }),
    );
  }
  return read;
}

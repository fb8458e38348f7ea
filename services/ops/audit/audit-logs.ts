/**
 * The audit itself: every log from offset 0, and every invariant of the money that they can tell. What is derived from another log is read up to a later moment than what
 * it came from was: tables before logs, the chain before the ledger, the ledger before the transfers, those before the addresses.
 */
import type { Kafka } from 'kafkajs';
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../../schemas/topics.ts';
import { isTreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { isTransferEvent } from '../../../schemas/tron.transfers/events.ts';
import { undecodable, type Codec } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { readLogEvents } from '../../runtime/kafka/range.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { ChainAudit } from './chain-audit.ts';
import { Findings } from './findings.ts';
import { LedgerAudit } from './ledger-audit.ts';
import { auditDeposits, MarkAudit, readDeposits, readMarks } from './projection-audit.ts';
import { TransferAudit } from './transfer-audit.ts';

/** All that is read. */
export const AUDITED_TOPICS = [
  DEPOSIT_ADDRESSES,
  TRON_TRANSFERS,
  TREASURY_LEDGER,
  CHAIN_BLOCKS,
  RESERVE_RUNS,
];

export interface AuditSources {
  readonly kafka: Kafka;
  /** of `AUDITED_TOPICS` */
  readonly codec: Codec;
  /** undefined: the tables are not looked at */
  readonly reader: Reader | undefined;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** told in a line each how far it is, when it takes long */
  readonly say?: (line: string) => void;
}

export interface Audited {
  readonly findings: Findings;
  /** what was read: the first offset that was not */
  readonly read: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly end: bigint;
  }[];
  readonly deposits: number;
  readonly mints: number;
  /** transfers that the treasury has not decided yet */
  readonly waiting: number;
  /** records of the ledger that count for nothing: lost races and repetitions */
  readonly without_effect: number;
  readonly sums: {
    readonly arrived: bigint;
    readonly minted: bigint;
    readonly fees: bigint;
    readonly held: bigint;
  };
  /** false: there is no read model of deposits to compare */
  readonly compared: boolean;
}

interface Ended {
  readonly topic: string;
  readonly partition: number;
  readonly end: bigint;
}

/** Between two words on how far it is. */
const TELL_MS = 5_000;

/** Throws faults: what does not answer, and records that cannot be read. */
export async function auditLogs({
  kafka,
  codec,
  reader,
  usdt_contract,
  say,
}: AuditSources): Promise<Audited> {
  const findings = new Findings();
  let told = performance.now();
  const marks = new MarkAudit(reader === undefined ? [] : await readMarks(reader), findings);
  const stored = reader === undefined ? undefined : await readDeposits(reader);
  const chainEnds = await endsOf(kafka, CHAIN_BLOCKS);
  const ledgerEnds = await endsOf(kafka, TREASURY_LEDGER);
  const transferEnds = await endsOf(kafka, TRON_TRANSFERS);
  const addressEnds = await endsOf(kafka, DEPOSIT_ADDRESSES);
  const runEnds = await endsOf(kafka, RESERVE_RUNS);
  const read = async <Event extends { readonly type: string }>(
    ends: readonly Ended[],
    isEvent: (event: { readonly type: string }) => event is Event,
    take: (event: Event, offset: bigint, partition: number) => void,
  ): Promise<void> => {
    for (const { topic, partition, end } of ends) {
      await readLogEvents(
        { kafka, codec },
        { topic, partition, from: 0n, to: end },
        (event, record) => {
          if (!isEvent(event))
            throw undecodable(
              `${topic}/${partition}@${record.offset}: ${event.type} does not belong here`,
            );
          marks.record(topic, partition, record);
          if (say !== undefined && performance.now() - told > TELL_MS) {
            told = performance.now();
            say(`${topic}/${partition}: offset ${record.offset} of ${end}`);
          }
          take(event, record.offset, partition);
        },
      );
      marks.finish(topic, partition, end);
    }
  };

  const transfers = new TransferAudit(usdt_contract, findings);
  await read(addressEnds, isDepositAddressEvent, (event, offset) =>
    transfers.address(event, offset),
  );
  await read(transferEnds, isTransferEvent, (event, offset, partition) =>
    transfers.transfer(event, partition, offset),
  );
  const ledger = new LedgerAudit(findings, (event, place, policy) =>
    transfers.confirmed(event, place, policy),
  );
  const compare = (offset: bigint): void => {
    if (stored?.next_offset === offset) auditDeposits(ledger.ledger, stored, findings);
  };
  compare(0n);
  await read(ledgerEnds, isTreasuryEvent, (event, offset) => {
    ledger.apply(event, offset);
    compare(offset + 1n);
  });
  const waiting = transfers.finish();
  const chain = new ChainAudit(ledger.intents, findings);
  await read(chainEnds, isChainEvent, (event, offset) => chain.apply(event, offset));
  chain.finish();
  await read(runEnds, isReserveEvent, () => undefined);
  return {
    findings,
    read: [...addressEnds, ...transferEnds, ...ledgerEnds, ...chainEnds, ...runEnds],
    deposits: ledger.ledger.deposits.size,
    mints: chain.counts.mints,
    waiting,
    without_effect: ledger.counts.without_effect,
    sums: ledger.sums,
    compared: stored !== undefined,
  };
}

/** Of each partition. A topic that is not there is an empty one: whatever has read more of it will be found. */
async function endsOf(kafka: Kafka, { name, partitions }: Topic): Promise<readonly Ended[]> {
  const exists = await withAdmin(kafka, async (admin) => (await admin.listTopics()).includes(name));
  const ends: Ended[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    ends.push({
      topic: name,
      partition,
      end: exists ? (await readLogEnds(kafka, name, partition)).high : 0n,
    });
  }
  return ends;
}

/**
 * The audit: every log from offset 0, every invariant of the money. The end of a log that derives
 * from another one is taken first, so that its sources are read at least as far: tables before
 * logs, the chain before the ledger, the ledger before the transfers, these before the addresses.
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
import {
  auditDeposits,
  CheckpointAudit,
  readDeposits,
  readCheckpoints,
} from './projection-audit.ts';
import { TransferAudit } from './transfer-audit.ts';

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
  /** undefined: tables are not audited */
  readonly reader: Reader | undefined;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** gets a line every few seconds */
  readonly onProgress?: (line: string) => void;
}

export interface AuditResult {
  readonly findings: Findings;
  /** by partition, the offset after the last record */
  readonly read: readonly PartitionEnd[];
  readonly deposits: number;
  readonly mints: number;
  /** transfers that the treasury has not decided */
  readonly waiting: number;
  /** records of the ledger without effect: lost races and repetitions */
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

interface PartitionEnd {
  readonly topic: string;
  readonly partition: number;
  readonly end: bigint;
}

const PROGRESS_EVERY_MS = 5_000;

/** Throws faults, also for records that cannot be decoded. */
export async function auditLogs({
  kafka,
  codec,
  reader,
  usdt_contract,
  onProgress,
}: AuditSources): Promise<AuditResult> {
  const findings = new Findings();
  let reported = performance.now();
  const checkpoints = new CheckpointAudit(
    reader === undefined ? [] : await readCheckpoints(reader),
    findings,
  );
  const stored = reader === undefined ? undefined : await readDeposits(reader);
  const chainEnds = await endsOf(kafka, CHAIN_BLOCKS);
  const ledgerEnds = await endsOf(kafka, TREASURY_LEDGER);
  const transferEnds = await endsOf(kafka, TRON_TRANSFERS);
  const addressEnds = await endsOf(kafka, DEPOSIT_ADDRESSES);
  const runEnds = await endsOf(kafka, RESERVE_RUNS);
  const read = async <Event extends { readonly type: string }>(
    ends: readonly PartitionEnd[],
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
          checkpoints.record(topic, partition, record);
          if (onProgress !== undefined && performance.now() - reported > PROGRESS_EVERY_MS) {
            reported = performance.now();
            onProgress(`${topic}/${partition}: offset ${record.offset} of ${end}`);
          }
          take(event, record.offset, partition);
        },
      );
      checkpoints.finish(topic, partition, end);
    }
  };

  const transfers = new TransferAudit(usdt_contract, findings);
  await read(addressEnds, isDepositAddressEvent, (event, offset) =>
    transfers.address(event, offset),
  );
  await read(transferEnds, isTransferEvent, (event, offset, partition) =>
    transfers.transfer(event, partition, offset),
  );
  const ledger = new LedgerAudit(findings, (event, position, policy) =>
    transfers.confirmed(event, position, policy),
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

/** A topic that does not exist is empty: checkpoints beyond its end are violations. */
async function endsOf(kafka: Kafka, { name, partitions }: Topic): Promise<readonly PartitionEnd[]> {
  const exists = await withAdmin(kafka, async (admin) => (await admin.listTopics()).includes(name));
  const ends: PartitionEnd[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    ends.push({
      topic: name,
      partition,
      end: exists ? (await readLogEnds(kafka, name, partition)).high : 0n,
    });
  }
  return ends;
}

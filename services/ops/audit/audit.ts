/**
 * `ops audit`: every log from offset 0, every invariant of the money. The end of a log that derives
 * from another one is taken first, so that its sources are read at least as far: tables before
 * logs, the chain before the ledger, the ledger before the transfers, these before the addresses.
 */
import type { Kafka } from 'kafkajs';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { hashOfValue } from '../../../schemas/hash-chain.ts';
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
import { openCodec, undecodable, type Codec } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { readLogEvents } from '../../runtime/kafka/range.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { depositKeySetting } from '../../runtime/process/deposit-key.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY, USDT } from '../config.ts';
import { jsonOf, kafkaOf, note, print, withReader } from '../connections.ts';
import type { SharedArguments } from '../usage.ts';
import { ChainHeads, readHead } from './head.ts';
import { ChainAudit } from './chain-audit.ts';
import { Findings, INVARIANTS, type Invariant } from './findings.ts';
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
  /** derives every deposit address; undefined: the addresses in the log are believed */
  readonly deposit_key?: DepositKey | undefined;
  /** a head of a chained log that somebody noted before */
  readonly seen?: Buffer | undefined;
  /** gets a line every few seconds */
  readonly onProgress?: (line: string) => void;
}

export type AuditResult = Awaited<ReturnType<typeof auditLogs>>;

interface PartitionEnd {
  readonly topic: string;
  readonly partition: number;
  readonly end: bigint;
}

const STATEMENT_MS = 120_000;
const PROGRESS_EVERY_MS = 5_000;

export async function audit({
  json,
  stack,
  head,
}: SharedArguments & { readonly head: string | undefined }): Promise<number> {
  const seen = head === undefined ? undefined : readHead(head);
  const deposit_key = { ...depositKeySetting(process.env), fallback: undefined };
  const settings = { ...KAFKA, ...REGISTRY, ...POSTGRES_READER, ...USDT, deposit_key };
  const config = readSettings(settings, stack);
  const kafka = kafkaOf(config);
  const codec = await openCodec(config.registry_url, AUDITED_TOPICS);
  const result = await withReader(
    config,
    (reader) => auditLogs({ ...config, kafka, codec, reader, seen, onProgress: note }),
    STATEMENT_MS,
  );
  print(json === true ? auditJson(result) : auditText(result));
  return result.findings.violationCount === 0 && result.seen !== null ? 0 : 2;
}

function auditText({ findings, read, deposits, mints, sums, ...rest }: AuditResult): string {
  const names = Object.keys(INVARIANTS).filter((name): name is Invariant => name in INVARIANTS);
  const broken = new Set(findings.violations.map(({ invariant }) => invariant));
  const lines = [
    ...read.map(
      ({ topic, partition, end }) => `read      ${topic}/${partition}: offsets 0 to ${end}`,
    ),
    `deposits  ${deposits}, ${rest.waiting} transfers wait to be decided; ${rest.without_effect} records of the ledger without effect; ${mints} Mints final`,
    `sums      arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held} (micro-USDT)`,
    ...names.map((name) => {
      const state = broken.has(name) ? 'BROKEN' : 'holds ';
      return `${name}  ${state}  ${findings.checked[name]} checked: ${INVARIANTS[name]}`;
    }),
  ];
  for (const { topic, partition, offset, head } of rest.heads)
    lines.push(`head      ${head} of ${topic}/${partition}, offsets 0 to ${offset}`);
  if (rest.seen === null)
    lines.push('VIOLATED  no log has the head of --head: records were changed, removed or moved');
  else if (rest.seen !== undefined) {
    const { topic, partition, offset } = rest.seen;
    lines.push(`seen      ${topic}/${partition}, offsets 0 to ${offset} are those of --head`);
  }
  if (!rest.derived)
    lines.push('addresses were read from the log and not derived: APP_DEPOSIT_XPUB is not set');
  if (!rest.compared) lines.push('I8        there is no read model of deposits to compare');
  const [first] = findings.violations;
  if (first !== undefined) {
    const { topic, partition, offset, invariant, what } = first;
    const all = findings.violationCount;
    lines.push(
      `VIOLATED  ${invariant} at ${topic}/${partition}@${offset}: ${what}${all === 1 ? '' : ` (the first of ${all})`}`,
    );
  }
  return lines.join('\n');
}

function auditJson({ findings, ...rest }: AuditResult): string {
  const { checked, violations, violationCount } = findings;
  return jsonOf({ ...rest, checked, violations, violation_count: violationCount });
}

/** Throws faults, also for records that cannot be decoded. */
export async function auditLogs(sources: AuditSources) {
  const { kafka, codec, reader, usdt_contract, deposit_key, onProgress } = sources;
  const chains = new ChainHeads(sources.seen);
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
    take: (event: Event, offset: bigint, partition: number, record: LogRecord) => void,
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
          chains.record(topic, partition, event, record);
          if (onProgress !== undefined && performance.now() - reported > PROGRESS_EVERY_MS) {
            reported = performance.now();
            onProgress(`${topic}/${partition}: offset ${record.offset} of ${end}`);
          }
          take(event, record.offset, partition, record);
        },
      );
      checkpoints.finish(topic, partition, end);
    }
  };

  const transfers = new TransferAudit(usdt_contract, findings, deposit_key);
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
  await read(ledgerEnds, isTreasuryEvent, (event, offset, _partition, { value }) => {
    ledger.apply(event, offset, hashOfValue(value));
    compare(offset + 1n);
  });
  const waiting = transfers.finish();
  const chain = new ChainAudit(ledger.intents, findings);
  await read(chainEnds, isChainEvent, (event, offset) => chain.apply(event, offset));
  chain.finish();
  await read(runEnds, isReserveEvent, () => undefined);
  return {
    findings,
    /** by partition, the offset after the last record */
    read: [...addressEnds, ...transferEnds, ...ledgerEnds, ...chainEnds, ...runEnds],
    deposits: ledger.ledger.deposits.size,
    mints: chain.mints,
    /** transfers that the treasury has not decided */
    waiting,
    /** records of the ledger without effect: lost races and repetitions */
    without_effect: ledger.withoutEffect,
    sums: ledger.sums,
    /** whether every deposit address was derived from the key */
    derived: deposit_key !== undefined,
    /** of the chained logs */
    heads: chains.heads,
    /** the record whose head was given; null: there is none, undefined: none was given */
    seen: chains.found,
    /** false: there is no read model of deposits to compare */
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

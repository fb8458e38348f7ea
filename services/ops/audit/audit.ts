/**
 * `ops audit`: every log from offset 0, every invariant of the money. The end of a log that derives
 * from another one is taken first, so that its sources are read at least as far: tables before
 * logs, runs before the chain, the chain before the ledger, the ledger before the transfers, these
 * before the addresses. The ledger derives from the runs as well, which allow its mints: runs up to
 * a second end are read, and judged by a later audit.
 */
import { renameSync, writeFileSync } from 'node:fs';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { hashOfValue } from '../../../schemas/hash-chain.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  PROJECTOR_SKIPS,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../../schemas/topics.ts';
import { isTreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { isTransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { fingerprint, type LogRecord } from '../../runtime/kafka/record.ts';
import { Skips } from '../../runtime/kafka/skips.ts';
import { RunAudit } from './run-audit.ts';
import type { FinalSupply } from '../../../projections/reserve/supply.ts';
import { openDecoder, undecodable, type Decoder } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { readLogEvents } from '../../runtime/kafka/log-events.ts';
import { readLogEnds, type Retrying } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { optional } from '../../runtime/process/config.ts';
import { DEPOSIT_KEY } from '../../runtime/process/deposit-key.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY, USDT } from '../config.ts';
import {
  jsonOf,
  kafkaOf,
  note,
  patience,
  print,
  retryingWithNotes,
  withReader,
} from '../connections.ts';
import { openProgress } from '../progress.ts';
import { money } from '../text.ts';
import { readCertificates, type Certificate } from '../status/certificates.ts';
import { Misuse, type SharedArguments } from '../usage.ts';
import { ChainHeads, readHead } from './head.ts';
import { ChainAudit } from './chain-audit.ts';
import { Findings, INVARIANTS, type Invariant, type LogPosition } from './findings.ts';
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
  readonly codec: Decoder;
  /** undefined: tables are not audited */
  readonly reader: Reader | undefined;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** derives every deposit address; undefined: the addresses in the log are believed */
  readonly deposit_key?: DepositKey | undefined;
  /** a head of a chained log that somebody noted before */
  readonly seen?: Buffer | undefined;
  /** retries reading while brokers fail; by default a fault ends the audit */
  readonly retrying?: Retrying;
  /** called about once a second */
  readonly onProgress?: (progress: AuditProgress) => void;
}

export interface AuditProgress extends LogPosition {
  /** records read so far, of all logs */
  readonly records: number;
  readonly records_behind: bigint;
}

export type AuditResult = Awaited<ReturnType<typeof auditLogs>>;

interface PartitionEnd {
  readonly topic: string;
  readonly partition: number;
  readonly end: bigint;
}

const STATEMENT_MS = 120_000;
const PROGRESS_EVERY_MS = 1_000;
/** For a certificate: a server that does not show one is told by the part that asks it. */
const ANSWER_MS = 4_000;
const DAY_S = 86_400;

export async function audit(
  args: SharedArguments & {
    readonly head: string | undefined;
    readonly metrics: string | undefined;
  },
): Promise<number> {
  const { json, stack, head, metrics } = args;
  const seen = head === undefined ? undefined : readHead(head);
  const deposit_key = optional(DEPOSIT_KEY);
  const settings = { ...KAFKA, ...REGISTRY, ...POSTGRES_READER, ...USDT, deposit_key };
  const config = readSettings(settings, stack);
  const { usdt_contract, deposit_key: depositKey } = config;
  const kafka = kafkaOf(config);
  const codec = await openDecoder(config, { kafka }, AUDITED_TOPICS);
  const progress = openProgress(args);
  // no time left: records differ in cost by a hundred times
  const onProgress = (at: AuditProgress): void => {
    const { topic, partition, offset, records, records_behind } = at;
    const part = records / (records + Number(records_behind));
    const percent = Math.floor(100 * part);
    progress.show(`${topic}/${partition}: offset ${offset}, ${percent} % of all records`, part);
  };
  // a signal ends the process itself
  const say = (text: string): void => {
    progress.end();
    note(text);
  };
  const retrying = retryingWithNotes(new AbortController().signal, say, patience());
  const result = await withReader(
    config,
    (reader) =>
      auditLogs({
        kafka,
        codec,
        reader,
        usdt_contract,
        deposit_key: depositKey,
        seen,
        retrying,
        onProgress,
      }),
    STATEMENT_MS,
  ).finally(() => progress.end());
  print(json === true ? auditJson(result) : auditText(result));
  if (metrics !== undefined) {
    const { registry_url, postgres_reader_url } = config;
    const seenNow = readCertificates(config, [registry_url], postgres_reader_url, ANSWER_MS);
    writeMetrics(metrics, result, await seenNow);
  }
  return result.findings.violation_count === 0 && result.seen !== null ? 0 : 2;
}

/** For the textfile collector of node_exporter, which may read it at any time. */
function writeMetrics(
  file: string,
  { findings }: AuditResult,
  certificates: readonly Certificate[],
): void {
  const unfinished = `${file}.${process.pid}`;
  try {
    writeFileSync(
      unfinished,
      metricsText(findings.violation_count, certificates, Math.floor(Date.now() / 1_000)),
    );
    renameSync(unfinished, file);
  } catch (error) {
    throw new Misuse(
      `the metrics cannot be written (${messageOf(error)}): name a file in a folder that this user may write to`,
    );
  }
}

/** `now`: Unix seconds. */
export function metricsText(
  violations: number,
  certificates: readonly Certificate[],
  now: number,
): string {
  const lines = [
    '# HELP audit_finished_timestamp_seconds when the newest audit ended, Unix time',
    '# TYPE audit_finished_timestamp_seconds gauge',
    `audit_finished_timestamp_seconds ${now}`,
    '# HELP audit_violations violations that the newest audit found',
    '# TYPE audit_violations gauge',
    `audit_violations ${violations}`,
    '# HELP certificate_expires_timestamp_seconds when a certificate that the audit met ends, Unix time',
    '# TYPE certificate_expires_timestamp_seconds gauge',
    ...certificates.map(
      ({ of, days_left: daysLeft }) =>
        `certificate_expires_timestamp_seconds{of="${of}"} ${Math.round(now + daysLeft * DAY_S)}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function auditText({ findings, read, deposits, mints, sums, ...rest }: AuditResult): string {
  const names = Object.keys(INVARIANTS).filter((name): name is Invariant => name in INVARIANTS);
  const lines = [
    ...read.map(
      ({ topic, partition, end }) =>
        `read      ${topic}/${partition}: first offset 0, next offset ${end}`,
    ),
    `deposits  ${deposits}, ${rest.waiting} transfers wait to be decided; ${rest.without_effect} records of the ledger without effect; ${mints} final Mints`,
    `sums      in USDT: arrived ${money(sums.arrived)}, minted ${money(sums.minted)}, fees ${money(sums.fees)}, held ${money(sums.held)}, paid back ${money(sums.refunded)}`,
    ...rest.skipped.map(
      (place) =>
        `skipped   ${placeText(place)}: no reader can apply it, and a person has skipped it`,
    ),
    ...rest.unneeded.map(
      (place) =>
        `unneeded  ${placeText(place)}: somebody had it skipped, and it can be applied, so it counts; look for who: ops tail ${PROJECTOR_SKIPS.name}`,
    ),
    ...supplyLines(rest.supply),
    ...names.map((name) => {
      const state = findings.violated[name] > 0 ? 'BROKEN' : 'holds ';
      return `${name.padEnd(3)}  ${state}  ${findings.checked[name]} checked: ${INVARIANTS[name]}`;
    }),
  ];
  for (const { topic, partition, offset, head } of rest.heads)
    lines.push(`head      ${head} of ${topic}/${partition}, offsets 0 to ${offset}`);
  if (rest.seen === null)
    lines.push(
      'VIOLATED  no log has the head of --head: it is of another log or miscopied, or records were changed, removed or moved: then restore the topic from a replica or a backup',
    );
  else if (rest.seen !== undefined) {
    const { topic, partition, offset } = rest.seen;
    lines.push(
      `seen      ${topic}/${partition}, offsets 0 to ${offset}: the same records as when --head was noted`,
    );
  }
  if (!rest.derived)
    lines.push('addresses were read from the log and not derived: APP_DEPOSIT_XPUB is not set');
  if (!rest.compared) lines.push('I8         there is no read model of deposits to compare');
  for (const name of names) {
    const first = findings.violations.find(({ invariant }) => invariant === name);
    if (first === undefined) continue;
    const { topic, partition, offset, what } = first;
    const all = findings.violated[name];
    lines.push(
      `VIOLATED  ${name} at ${topic}/${partition}@${offset}: ${what}${all === 1 ? '' : ` (the first of ${all})`}`,
    );
  }
  return lines.join('\n');
}

function supplyLines(at: AuditResult['supply']): readonly string[] {
  if (at === undefined) return [];
  const { height, supply, genesis_allocation: genesisAllocation, minted, burned } = at;
  return [
    `supply    in CLT at block ${height}: ${money(supply)}, genesis ${money(genesisAllocation)}, minted ${money(minted)}, burned ${money(burned)}`,
  ];
}

function supplyOf(final: FinalSupply | undefined) {
  if (final === undefined) return undefined;
  const { height, supply, genesis_allocation, burned } = final;
  const minted = supply - genesis_allocation + burned;
  return { height, supply, genesis_allocation, minted, burned };
}

function auditJson({ findings, ...rest }: AuditResult): string {
  const { checked, violated, violations, violation_count: violationCount } = findings;
  return jsonOf({ ...rest, checked, violated, violations, violation_count: violationCount });
}

function placeOf({ topic, partition, offset }: LogPosition): LogPosition {
  return { topic, partition, offset };
}

function placeText({ topic, partition, offset }: LogPosition): string {
  return `${topic}/${partition}@${offset}`;
}

/** Throws faults, also for records that cannot be decoded. */
export async function auditLogs(sources: AuditSources) {
  const { kafka, codec, reader, usdt_contract, deposit_key, onProgress } = sources;
  const chains = new ChainHeads(sources.seen);
  const findings = new Findings();
  let reported = performance.now();
  let records = 0;
  const checkpoints = new CheckpointAudit(
    reader === undefined ? [] : await readCheckpoints(reader),
    findings,
  );
  const stored = reader === undefined ? undefined : await readDeposits(reader);
  const runEnds = await endsOf(kafka, RESERVE_RUNS);
  const chainEnds = await endsOf(kafka, CHAIN_BLOCKS);
  const ledgerEnds = await endsOf(kafka, TREASURY_LEDGER);
  const transferEnds = await endsOf(kafka, TRON_TRANSFERS);
  const addressEnds = await endsOf(kafka, DEPOSIT_ADDRESSES);
  const laterRunEnds = await endsOf(kafka, RESERVE_RUNS);
  // the ledger is read twice
  const records_all = [runEnds, chainEnds, ledgerEnds, ledgerEnds, transferEnds, addressEnds]
    .flat()
    .reduce((sum, { end }) => sum + end, 0n);
  const transfers = new TransferAudit(usdt_contract, findings, deposit_key);
  const ledger = new LedgerAudit(findings, (event, position, inForce) =>
    transfers.confirmed(event, position, inForce),
  );
  const compare = (offset: bigint): void => {
    if (stored?.next_offset === offset) auditDeposits(ledger.ledger, stored, findings);
  };
  /** records that a person has skipped */
  const skipped: LogPosition[] = [];
  const skips = new Skips({ kafka, codec });
  await skips.refresh();
  const scan = async <Event extends { readonly type: string }>(
    ends: readonly PartitionEnd[],
    isEvent: (event: { readonly type: string }) => event is Event,
    take: (event: Event, record: LogRecord, place: PartitionEnd) => void,
    onSkipped?: (record: LogRecord, place: PartitionEnd) => void,
  ): Promise<void> => {
    for (const place of ends) {
      const { topic, partition, end } = place;
      await readLogEvents(
        { kafka, codec },
        { topic, partition, from: 0n, to: end, retrying: sources.retrying },
        (event, record) => {
          if (!isEvent(event))
            throw undecodable(
              `${topic}/${partition}@${record.offset}: ${event.type} does not belong here`,
            );
          records++;
          if (onProgress !== undefined && performance.now() - reported > PROGRESS_EVERY_MS) {
            reported = performance.now();
            const { offset } = record;
            const left = records_all - BigInt(records);
            onProgress({
              topic,
              partition,
              offset,
              records,
              records_behind: left < 0n ? 0n : left,
            });
          }
          take(event, record, place);
        },
        (record) => onSkipped?.(record, place),
      );
    }
  };
  const read = async <Event extends { readonly type: string }>(
    ends: readonly PartitionEnd[],
    isEvent: (event: { readonly type: string }) => event is Event,
    take: (event: Event, offset: bigint, partition: number, record: LogRecord) => void,
  ): Promise<void> => {
    await scan(
      ends,
      isEvent,
      (event, record, { topic, partition }) => {
        chains.record(topic, partition, event, record);
        take(event, record.offset, partition, record);
        checkpoints.record(topic, partition, record);
      },
      (record, { topic, partition }) => {
        skipped.push({ topic, partition, offset: record.offset });
        checkpoints.record(topic, partition, record);
        if (topic === TREASURY_LEDGER.name) compare(record.offset + 1n);
      },
    );
    for (const { topic, partition, end } of ends) checkpoints.finish(topic, partition, end);
  };

  await read(addressEnds, isDepositAddressEvent, (event, offset, _partition, { value }) =>
    transfers.address(event, offset, hashOfValue(value)),
  );
  await read(transferEnds, isTransferEvent, (event, offset, partition) =>
    transfers.transfer(event, partition, offset),
  );
  compare(0n);
  await read(ledgerEnds, isTreasuryEvent, (event, offset, _partition, { value }) => {
    ledger.apply(event, offset, hashOfValue(value));
    compare(offset + 1n);
  });
  assertContract(ledger.ledger, usdt_contract);
  const waiting = transfers.finish();
  const runs = new RunAudit(findings);
  await read(laterRunEnds, isReserveEvent, (event, offset, partition, { timestamp, value }) =>
    runs.run(
      { event, partition, offset, timestamp, value_hash: hashOfValue(value) },
      offset < (runEnds[0]?.end ?? 0n),
    ),
  );
  const chain = new ChainAudit(ledger, findings, (final) => runs.final(final));
  await read(chainEnds, isChainEvent, (event, offset, partition, record) =>
    chain.apply(event, offset, () => {
      const { name: topic } = CHAIN_BLOCKS;
      const at = { topic, partition, offset, fingerprint: fingerprint(record) };
      const isSkipped = skips.has(at);
      if (isSkipped) skipped.push(at);
      return isSkipped;
    }),
  );
  chain.finish();
  // again: the runs need the Mints of the chain, whose audit needs the intents of the ledger
  const { ledger_end: ledgerEnd } = runs;
  const again = ledgerEnds.map((place) => ({
    ...place,
    end: place.end < ledgerEnd ? place.end : ledgerEnd,
  }));
  await scan(again, isTreasuryEvent, (event, { offset, value }) =>
    runs.ledger(event, offset, { supply: chain.supply, value_hash: hashOfValue(value) }),
  );
  runs.finish(ledger.intents.values(), chain.supply);
  const skippedPlaces = new Set(skipped.map(placeText));
  return {
    findings,
    /** by partition, the offset after the last record */
    read: [...addressEnds, ...transferEnds, ...ledgerEnds, ...chainEnds, ...laterRunEnds],
    deposits: ledger.ledger.deposits.size,
    mints: chain.mints,
    /** transfers that the treasury has not decided */
    waiting,
    skipped: skipped.map(placeOf),
    /** decisions to skip records that can be applied, or are not there */
    unneeded: skips.decided
      .filter(({ topic }) => AUDITED_TOPICS.some(({ name }) => name === topic))
      .map(placeOf)
      .filter((place) => !skippedPlaces.has(placeText(place))),
    /** records of the ledger without effect: lost races and repetitions */
    without_effect: ledger.without_effect,
    sums: ledger.sums,
    /** whether every deposit address was derived from the key */
    derived: deposit_key !== undefined,
    /** of the chained logs */
    heads: chains.heads,
    /** the record whose head was given; null: there is none, undefined: none was given */
    seen: chains.found,
    /** at the newest final block; undefined: no block is final */
    supply: supplyOf(chain.supply.final),
    /** false: there is no read model of deposits to compare */
    compared: stored !== undefined,
  };
}

/** The transfers of another contract than the treasury's are other transfers. */
function assertContract({ governance }: Ledger, contract: Buffer): void {
  const pinned = governance.custody?.usdt_contract;
  if (pinned === undefined || pinned.equals(contract)) return;
  throw new Fault(
    'another_contract',
    `the treasury counts USDT of ${toTronAddress(pinned)}, and APP_USDT_CONTRACT is ${toTronAddress(contract)}: nothing was audited. What to do: set APP_USDT_CONTRACT to the contract of the treasury, and audit again`,
    { retry: false },
  );
}

/** A topic that does not exist is empty: checkpoints beyond its end are violations. */
async function endsOf(kafka: Kafka, { name, partitions }: Topic): Promise<readonly PartitionEnd[]> {
  const exists = await withAdmin(kafka, async (admin) => (await admin.topicNames()).includes(name));
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

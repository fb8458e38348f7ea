/** I7 and I8: what the projections say that they have applied, against the log itself; and the rows of deposits against the ledger at the same offset. */
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import {
  DIGEST_OF_NOTHING,
  digestNext,
  fingerprint,
  type LogRecord,
} from '../../runtime/kafka/record.ts';
import { byteaDigits } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import type { Findings } from './findings.ts';

export interface AppliedMark {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly next_offset: bigint;
  /** in hex: over all records applied */
  readonly digest: string;
}

export async function readMarks(reader: Reader): Promise<readonly AppliedMark[]> {
  const rows = await reader.rows({
    name: 'audit_checkpoints',
    text: `SELECT projection, topic, partition, next_offset, digest FROM projector.checkpoints c
            WHERE NOT EXISTS (SELECT FROM projector.projections p WHERE p.projection = c.projection AND p.beside IS NOT NULL)
            ORDER BY projection, topic, partition`,
    values: [],
  });
  return rows.map(([projection, topic, partition, next, digest]) => ({
    projection: projection ?? '',
    topic: topic ?? '',
    partition: Number(partition),
    next_offset: BigInt(next ?? '0'),
    digest: byteaDigits(digest),
  }));
}

/** Follows each partition's running digest, and holds it against the marks on the way. */
export class MarkAudit {
  readonly #findings: Findings;
  readonly #marks: ReadonlyMap<string, readonly AppliedMark[]>;
  readonly #digests = new Map<string, Buffer>();

  constructor(marks: readonly AppliedMark[], findings: Findings) {
    this.#findings = findings;
    this.#marks = Map.groupBy(marks, ({ topic, partition }) => partitionKey(topic, partition));
  }

  /** Each record, in order, from offset 0 on. */
  record(topic: string, partition: number, record: LogRecord): void {
    const key = partitionKey(topic, partition);
    const marks = this.#marks.get(key);
    if (marks === undefined) return;
    const digest = digestNext(this.#digests.get(key) ?? DIGEST_OF_NOTHING, fingerprint(record));
    this.#digests.set(key, digest);
    for (const mark of marks)
      if (mark.next_offset === record.offset + 1n)
        this.#look(mark, digest.toString('hex') === mark.digest);
  }

  /** The log has no more: a mark beyond its end is of records that are not there. */
  finish(topic: string, partition: number, end: bigint): void {
    for (const mark of this.#marks.get(partitionKey(topic, partition)) ?? [])
      if (mark.next_offset > end) this.#look(mark, false);
  }

  #look({ projection, topic, partition, next_offset: offset }: AppliedMark, holds: boolean): void {
    this.#findings.look(
      'I7',
      { topic, partition, offset },
      holds,
      () => `${projection} has not applied just these records up to here`,
    );
  }
}

export interface StoredDeposits {
  /** the ledger's offset that they are of */
  readonly next_offset: bigint;
  /** by id, a text of all that has to be the same */
  readonly rows: ReadonlyMap<string, string>;
}

/** In one statement, hence of one moment; undefined where there is no read model. */
export async function readDeposits(reader: Reader): Promise<StoredDeposits | undefined> {
  try {
    const rows = await reader.rows({
      name: 'audit_deposits',
      text: `SELECT c.next_offset, d.id, d.clt_address, d.gross, d.fee, d.credit, d.policy_version, s.status, s.reason, s.approved, s.rejected, s.nonce, s.tx_hash
               FROM (SELECT next_offset FROM projector.checkpoints WHERE projection = 'deposits' AND version = $1 AND topic = 'treasury.ledger') c
               LEFT JOIN (deposits.deposits d JOIN deposits.standings s ON s.id = d.id) ON true`,
      values: [deposits.version],
    });
    const [first] = rows;
    if (first === undefined) return undefined;
    const stored = rows.flatMap(([, id, ...cells]) =>
      id === null || id === undefined ? [] : [[id, textOf(cells)] as const],
    );
    return { next_offset: BigInt(first[0] ?? '0'), rows: new Map(stored) };
  } catch (error) {
    if (error instanceof Fault && error.code === 'storage_missing') return undefined;
    throw error;
  }
}

/** The rows as they must be by this ledger. */
export function storedOf(ledger: Ledger): ReadonlyMap<string, string> {
  return new Map([...ledger.deposits.keys()].map((id) => [id, textOf(cellsOf(ledger, id))]));
}

/** Holds the rows against a ledger that stands at just their offset. */
export function auditDeposits(
  ledger: Ledger,
  { rows, next_offset: offset }: StoredDeposits,
  findings: Findings,
): void {
  const place = { topic: TREASURY_LEDGER.name, partition: 0, offset };
  for (const [id, folded] of storedOf(ledger)) {
    const stored = rows.get(id);
    findings.look(
      'I8',
      place,
      stored === folded,
      () =>
        `deposit ${id} is ${stored ?? 'missing'} in the read model, and ${folded} by the ledger`,
    );
  }
  for (const id of rows.keys())
    if (!ledger.deposits.has(id))
      findings.look(
        'I8',
        place,
        false,
        () => `deposit ${id} is in the read model, and not in the ledger`,
      );
}

/** In the order of the statement's columns. */
function cellsOf(ledger: Ledger, id: string): Cells {
  const deposit = ledger.deposit(id);
  if (deposit.status === 'absent') return [];
  const { clt_address, gross, fee, credit, policy_version } = deposit.terms;
  const { reason, rejected } =
    deposit.status === 'needs_manual' ? deposit : { reason: null, rejected: false };
  const mint =
    deposit.status === 'mint_requested' || deposit.status === 'credited' ? deposit.mint : undefined;
  const approved =
    deposit.status === 'confirmed' || deposit.status === 'mint_requested'
      ? deposit.approved
      : false;
  return [
    `\\x${clt_address.toString('hex')}`,
    String(gross),
    String(fee),
    String(credit),
    String(policy_version),
    deposit.status,
    reason,
    approved ? 't' : 'f',
    rejected ? 't' : 'f',
    mint === undefined ? null : String(mint.nonce),
    mint === undefined ? null : `\\x${mint.tx_hash.toString('hex')}`,
  ];
}

function textOf(cells: Cells): string {
  return cells.map((cell) => cell ?? '-').join(' ');
}

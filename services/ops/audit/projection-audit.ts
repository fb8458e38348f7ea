/**
 * I7: the checkpoints of projections against the log. I8: the rows of the deposits read model
 * against the ledger at the same offset.
 */
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

export interface Checkpoint {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly next_offset: bigint;
  /** of all records applied, in hex */
  readonly digest: string;
}

export async function readCheckpoints(reader: Reader): Promise<readonly Checkpoint[]> {
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

/** Computes the running digest of each partition, and compares it at each checkpoint. */
export class CheckpointAudit {
  readonly #findings: Findings;
  readonly #checkpoints: ReadonlyMap<string, readonly Checkpoint[]>;
  readonly #digests = new Map<string, Buffer>();

  constructor(checkpoints: readonly Checkpoint[], findings: Findings) {
    this.#findings = findings;
    this.#checkpoints = Map.groupBy(checkpoints, ({ topic, partition }) =>
      partitionKey(topic, partition),
    );
  }

  /** Takes each record in order from offset 0. */
  record(topic: string, partition: number, record: LogRecord): void {
    const key = partitionKey(topic, partition);
    const checkpoints = this.#checkpoints.get(key);
    if (checkpoints === undefined) return;
    const digest = digestNext(this.#digests.get(key) ?? DIGEST_OF_NOTHING, fingerprint(record));
    this.#digests.set(key, digest);
    for (const checkpoint of checkpoints)
      if (checkpoint.next_offset === record.offset + 1n)
        this.#check(checkpoint, digest.toString('hex') === checkpoint.digest);
  }

  /** After the last record: a checkpoint beyond the end is of records that do not exist. */
  finish(topic: string, partition: number, end: bigint): void {
    for (const checkpoint of this.#checkpoints.get(partitionKey(topic, partition)) ?? [])
      if (checkpoint.next_offset > end) this.#check(checkpoint, false);
  }

  #check(
    { projection, topic, partition, next_offset: nextOffset }: Checkpoint,
    holds: boolean,
  ): void {
    this.#findings.check(
      'I7',
      { topic, partition, offset: nextOffset },
      holds,
      () =>
        `${projection} has not applied just these records up to here: npx ops verify ${projection} names the rows, npx ops rebuild ${projection} makes them anew`,
    );
  }
}

export interface StoredDeposits {
  /** the offset of the ledger up to which they are folded */
  readonly next_offset: bigint;
  /** the compared columns as one text, by deposit id */
  readonly rows: ReadonlyMap<string, string>;
}

/** One statement, hence one snapshot. Undefined where there is no read model. */
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

/** The rows that follow from this ledger. */
export function ledgerRows(ledger: Ledger): ReadonlyMap<string, string> {
  return new Map([...ledger.deposits.keys()].map((id) => [id, textOf(cellsOf(ledger, id))]));
}

/** Compares the rows with a ledger at the same offset. */
export function auditDeposits(
  ledger: Ledger,
  { rows, next_offset: nextOffset }: StoredDeposits,
  findings: Findings,
): void {
  const check = findings.at({ topic: TREASURY_LEDGER.name, partition: 0, offset: nextOffset });
  for (const [id, folded] of ledgerRows(ledger)) {
    const stored = rows.get(id);
    check(
      'I8',
      stored === folded,
      () =>
        `deposit ${id} is ${stored ?? 'missing'} in the read model, and ${folded} by the ledger: ${REMEDY}`,
    );
  }
  for (const id of rows.keys())
    if (!ledger.deposits.has(id))
      check(
        'I8',
        false,
        () => `deposit ${id} is in the read model, and not in the ledger: ${REMEDY}`,
      );
}

const REMEDY = 'npx ops rebuild deposits makes it anew';

/** The columns of `readDeposits`. */
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

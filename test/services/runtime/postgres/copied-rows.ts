/** The rows in a stream of COPY BINARY, read by the format's documentation alone, so that what a fold adds can be looked at without a database. */
import type {
  Changes,
  ColumnType,
  Row,
  Table,
  Value,
} from '../../../../projections/contract/projection.ts';

const HEADER_BYTES = 19;
const EPOCH_2000_MS = 946_684_800_000;

const READERS: Readonly<Record<ColumnType, (field: Buffer) => Value>> = {
  bool: (field) => field.readUInt8() === 1,
  bytea: (field) => Buffer.from(field),
  int4: (field) => field.readInt32BE(),
  int8: (field) => numberWherePossible(field.readBigInt64BE()),
  numeric: numeric,
  text: (field) => field.toString(),
  timestamptz: (field) => Number(field.readBigInt64BE() / 1000n) + EPOCH_2000_MS,
};

/** The rows of one kind of change, encoded or not. */
export function rowsIn(change: Changes['appends'][number]): readonly Row[] {
  return 'rows' in change
    ? change.rows
    : copiedRows(change.table, Buffer.concat([...change.pieces()]));
}

export function copiedRows(table: Table, stream: Buffer): readonly Row[] {
  const types = Object.values(table.columns);
  const rows: Row[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const fields = stream.readInt16BE(at);
    at += 2;
    if (fields === -1 && at === stream.length) return rows;
    if (fields !== types.length)
      throw new Error(`a row of ${table.name} has ${fields} fields for ${types.length} columns`);
    rows.push(
      types.map((type) => {
        const length = stream.readInt32BE(at);
        at += 4;
        if (length === -1) return null;
        at += length;
        return READERS[type](stream.subarray(at - length, at));
      }),
    );
  }
}

function numberWherePossible(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Digits in base 10,000: count, weight of the first, sign, scale, digits. */
function numeric(field: Buffer): bigint {
  const weight = field.readInt16BE(2);
  let value = 0n;
  for (let digit = 0; digit <= weight; digit++)
    value =
      value * 10_000n + BigInt(digit < field.readInt16BE(0) ? field.readInt16BE(8 + digit * 2) : 0);
  return field.readUInt16BE(4) === 0x4000 ? -value : value;
}

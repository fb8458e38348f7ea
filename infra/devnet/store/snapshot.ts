/** The state after a final block. A start executes only the blocks above it. */
import fs from 'node:fs';
import type { Anchor } from '../clt/chain.ts';
import type { ActiveTrip, OpenOffer, OpenRequest, Rows } from '../clt/state.ts';
import { replaceFile } from './identity.ts';

export interface Snapshot {
  readonly anchor: Anchor;
  /** of the record that holds the anchor's block */
  readonly record_offset: number;
  readonly rows: Rows;
}

interface SnapshotFile {
  readonly anchor: Anchor;
  readonly record_offset: number;
  readonly supply: readonly [string, string][];
  readonly accounts: readonly [string, string, number][];
  readonly requests: readonly [string, Amounts<OpenRequest>][];
  readonly offers: readonly [string, Amounts<OpenOffer>][];
  readonly trips: readonly [string, Amounts<ActiveTrip>][];
}

type Amounts<Row> = {
  readonly [Field in keyof Row]: Row[Field] extends bigint ? string : Row[Field];
};

export function saveSnapshot(path: string, { anchor, record_offset, rows }: Snapshot): void {
  const file: SnapshotFile = {
    anchor,
    record_offset,
    supply: [...rows.supply].map(([key, value]) => [key, String(value)]),
    accounts: [...rows.accounts].map(([address, { balance, nonce }]) => [
      address,
      String(balance),
      nonce,
    ]),
    requests: [...rows.requests].map(([hash, row]) => [hash, { ...row, fare: String(row.fare) }]),
    offers: [...rows.offers].map(([hash, row]) => [hash, { ...row, fare: String(row.fare) }]),
    trips: [...rows.trips].map(([hash, row]) => [
      hash,
      { ...row, fare: String(row.fare), paid: String(row.paid) },
    ]),
  };
  replaceFile(path, JSON.stringify(file));
}

/** Undefined when there is none. The caller checks that it fits the log. */
export function loadSnapshot(path: string): Snapshot | undefined {
  if (!fs.existsSync(path)) return undefined;
  const file: SnapshotFile = JSON.parse(fs.readFileSync(path, 'utf8'));
  return {
    anchor: file.anchor,
    record_offset: file.record_offset,
    rows: {
      supply: new Map(file.supply.map(([key, value]) => [key, BigInt(value)])),
      accounts: new Map(
        file.accounts.map(([address, balance, nonce]) => [
          address,
          { balance: BigInt(balance), nonce },
        ]),
      ),
      requests: new Map(
        file.requests.map(([hash, row]) => [hash, { ...row, fare: BigInt(row.fare) }]),
      ),
      offers: new Map(file.offers.map(([hash, row]) => [hash, { ...row, fare: BigInt(row.fare) }])),
      trips: new Map(
        file.trips.map(([hash, row]) => [
          hash,
          { ...row, fare: BigInt(row.fare), paid: BigInt(row.paid) },
        ]),
      ),
    },
  };
}

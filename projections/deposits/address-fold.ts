/** The one fold of `deposit.addresses`, so that index and address are the same everywhere. */
import { bytesKey, toHex } from '../../schemas/address.ts';
import { readDepositKey, type DepositKey } from '../../schemas/deposit-address.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { brokenLink, headAfter, NO_RECORDS } from '../../schemas/hash-chain.ts';
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type {
  Folded,
  Load,
  Loaded,
  LoadedRow,
  Outcomes,
  Recorded,
  Row,
} from '../contract/projection.ts';
import { addressFrom, isInPlace, judge, type Book } from './domain/address-book.ts';
import { ADDRESSES, BOOK } from './rows.ts';

/** The addresses of the accounts that a batch names, and the book. */
export function addressLoads(batch: readonly Recorded<DepositAddressEvent>[]): readonly Load[] {
  const accounts = new Map<string, Buffer>();
  for (const { event } of batch)
    if (event.type !== 'SchemePinned') accounts.set(bytesKey(event.clt_address), event.clt_address);
  return [
    {
      name: 'book',
      text: 'SELECT log_end, head, extended_public_key, key_fingerprint, addresses FROM book',
      values: [],
    },
    {
      name: 'known_addresses',
      text: 'SELECT clt_address, deposit_address FROM addresses WHERE clt_address = ANY($1::bytea[])',
      values: [[...accounts.values()]],
    },
  ];
}

/** An account's address when it is assigned, or when the account opens its panel. */
export interface Sighting {
  readonly clt_address: Buffer;
  readonly deposit_address: Buffer;
  /** undefined: the account had its address before */
  readonly assigned_index: number | undefined;
  /** Unix milliseconds */
  readonly seen_at: number;
}

export interface Sightings {
  readonly sightings: readonly Sighting[];
  /** rows of `BOOK`: one when the batch holds anything new */
  readonly book: readonly Row[];
  readonly outcomes: Outcomes;
}

type Broken = Extract<Folded, { readonly broken: unknown }>;

export function foldSightings(
  loaded: Loaded,
  batch: readonly Recorded<DepositAddressEvent>[],
): Sightings | Broken {
  const stored = loaded['book']?.[0];
  let book = bookOf(stored);
  const before = stored === undefined ? 0n : amountIn(stored, 'log_end');
  let end = before;
  let head = stored === undefined ? NO_RECORDS : bytesIn(stored, 'head');
  const known = new Map(
    (loaded['known_addresses'] ?? []).map((row) => [
      bytesKey(bytesIn(row, 'clt_address')),
      bytesIn(row, 'deposit_address'),
    ]),
  );
  const sightings: Sighting[] = [];
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, { event, offset, value_hash: valueHash }] of batch.entries()) {
    if (offset < end) {
      outcomes.replayed++;
      continue;
    }
    end = offset + 1n;
    if (isInPlace(event, offset)) {
      const reason = brokenLink(head, event, offset);
      if (reason !== undefined) return { broken: { at, reason } };
      head = headAfter(head, valueHash);
    }
    const account = event.type === 'SchemePinned' ? undefined : event.clt_address;
    const address = account === undefined ? undefined : known.get(bytesKey(account));
    const judged = judge(book, event, offset, address !== undefined);
    switch (judged.verdict) {
      case 'pinned':
        book = { scheme: judged.scheme, addresses: 0 };
        break;
      case 'assigned':
        book = { ...book, addresses: judged.index + 1 };
        break;
      case 'replayed':
      case 'ignored':
        outcomes[judged.verdict]++;
        continue;
      case 'opened':
        break;
    }
    outcomes.applied++;
    if (event.type === 'SchemePinned') continue;
    const { clt_address } = event;
    const assigned = judged.verdict === 'assigned' ? judged : undefined;
    const deposit_address = assigned ? addressFrom(assigned.source, assigned.index) : address;
    if (deposit_address === undefined) throw new Error('an account without an address is sighted');
    const seen_at = event.type === 'AddressRequested' ? event.requested_at : event.opened_at;
    known.set(bytesKey(clt_address), deposit_address);
    sightings.push({ clt_address, deposit_address, assigned_index: assigned?.index, seen_at });
  }
  return { sightings, book: end === before ? [] : [bookRow(end, head, book)], outcomes };
}

function bookOf(head: LoadedRow | undefined): Book {
  if (head === undefined || head['key_fingerprint'] === null)
    return { scheme: undefined, addresses: 0 };
  const scheme = { fingerprint: bytesIn(head, 'key_fingerprint'), key: keyIn(head) };
  return { scheme, addresses: countIn(head, 'addresses') };
}

function keyIn(head: LoadedRow): DepositKey | undefined {
  if (head['extended_public_key'] === null) return undefined;
  const read = readDepositKey(textIn(head, 'extended_public_key'));
  if ('problem' in read) throw new Error(`the pinned key is invalid: ${read.problem}`);
  return read.key;
}

function bookRow(end: bigint, hash: Buffer, { scheme, addresses }: Book): Row {
  const { key, fingerprint = null } = scheme ?? {};
  return [true, end, hash, key?.extended_public_key ?? null, fingerprint, addresses];
}

export function foldAddresses(
  loaded: Loaded,
  batch: readonly Recorded<DepositAddressEvent>[],
): Folded {
  const folded = foldSightings(loaded, batch);
  if ('broken' in folded) return folded;
  const { sightings, book, outcomes } = folded;
  const assigned = sightings.filter(
    ({ assigned_index: assignedIndex }) => assignedIndex !== undefined,
  );
  const rows = assigned.map(
    ({ clt_address, assigned_index: assignedIndex, deposit_address, seen_at }): Row => [
      clt_address,
      assignedIndex ?? null,
      deposit_address,
      seen_at,
    ],
  );
  return {
    changes: {
      cuts: [],
      deletes: [],
      appends: [{ table: ADDRESSES, rows }],
      upserts: [{ table: BOOK, rows: book }],
    },
    outcomes,
    announced: assigned.map(({ clt_address }) => toHex(clt_address)),
  };
}

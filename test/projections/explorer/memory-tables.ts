/** The explorer's tables as maps: answers loads, applies changes, checks keys as Postgres would. */
import { explorer } from '../../../projections/explorer/explorer.ts';
import type {
  Folded,
  Load,
  LoadedRow,
  Recorded,
  Value,
} from '../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { keyOf, TableMaps, type Named } from '../table-maps.ts';
import { plainRows } from '../../support/plain-rows.ts';

export class MemoryTables extends TableMaps {
  constructor() {
    super(explorer);
  }

  /** Loads, folds and applies one batch that begins at offset `from`. */
  apply(events: readonly ChainEvent[], from = 0): Folded {
    const batch = events.map((event, at): Recorded<ChainEvent> => ({
      event,
      partition: 0,
      offset: BigInt(from + at),
      timestamp: 0,
    }));
    // the projector drops applied records before the fold; here the fold must recognise them
    const applied = this.rows('head')[0]?.['sequence'] ?? -1;
    const fresh = batch.filter(({ offset }) => offset > BigInt(String(applied)));
    const loaded = Object.fromEntries(
      explorer.loads(fresh).map((load) => [load.name, this.#answer(load)]),
    );
    const folded = explorer.fold(loaded, batch, plainRows);
    if (!('broken' in folded)) this.change(folded.changes);
    return folded;
  }

  /** Just the columns that the loads select, as pg gives them: int8 and numeric as text. */
  #answer(load: Load): LoadedRow[] {
    if ('table' in load) {
      const { table, keys } = load;
      return this.where(table.name, table.key[0] ?? '', new Set(keys.map(keyOf))).map(
        only(...Object.keys(table.columns)),
      );
    }
    const { name, values } = load;
    const wanted = new Set((Array.isArray(values[0]) ? values[0] : []).map(keyOf));
    switch (name) {
      case 'reverted_types':
        return this.rows('transaction_types').map(only('function_call_type', 'transactions'));
      case 'reverted_blocks':
        return this.where('blocks', 'height', wanted).map(only('height', 'first_seq', 'producer'));
      case 'reverted_transactions':
        return this.where('transactions', 'block_height', wanted)
          .toSorted((one, other) => Number(one['seq']) - Number(other['seq']))
          .map((row) => Object.assign({ height: keyOf(row['block_height']) }, transactionOf(row)));
      case 'reverted_activity':
        return this.#activity(wanted);
      case 'reverted_accounts':
        return this.#accounts(this.#touched(wanted));
      default:
        throw new Error(`the explorer asks for ${name}, which these tables cannot answer`);
    }
  }

  #accounts(wanted: ReadonlySet<string>): LoadedRow[] {
    return this.where('accounts', 'address', wanted).map(
      only(
        'address',
        'balance',
        'nonce',
        'transactions',
        'activities',
        'unsigned_debits',
        'blocks_produced',
      ),
    );
  }

  /** Grouped by block and address. */
  #activity(heights: ReadonlySet<string>): LoadedRow[] {
    const signers = new Map(
      this.rows('transactions').map(({ seq, from_address }) => [keyOf(seq), keyOf(from_address)]),
    );
    const isUnsignedDebit = ({ delta, seq, address }: Named): boolean =>
      BigInt(String(delta)) < 0n && (seq === null || signers.get(keyOf(seq)) !== keyOf(address));
    const groups = Map.groupBy(
      this.where('activity', 'block_height', heights),
      ({ block_height, address }) => `${keyOf(block_height)} ${keyOf(address)}`,
    );
    return [...groups.values()].map((rows) => ({
      height: keyOf(rows[0]?.['block_height']),
      address: rows[0]?.['address'],
      activities: String(rows.length),
      delta: String(rows.reduce((sum, { delta }) => sum + BigInt(String(delta)), 0n)),
      unsigned_debits: String(rows.filter(isUnsignedDebit).length),
    }));
  }

  /** Every address that the blocks at these heights have an account row for. */
  #touched(heights: ReadonlySet<string>): ReadonlySet<string> {
    const columns: readonly (readonly [
      table: string,
      height: string,
      ...addresses: readonly string[],
    ])[] = [
      ['blocks', 'height', 'producer'],
      ['transactions', 'block_height', 'from_address', 'to_address'],
      ['activity', 'block_height', 'address'],
    ];
    const touched = columns.flatMap(([table, height, ...addresses]) =>
      this.where(table, height, heights).flatMap((row) =>
        addresses.map((column) => keyOf(row[column])),
      ),
    );
    return new Set(touched);
  }
}

const transactionOf = only('from_address', 'to_address', 'function_call_type', 'nonce');

function only(...columns: readonly string[]): (row: Named) => LoadedRow {
  return (row) =>
    Object.fromEntries(columns.map((column) => [column, asLoaded(row[column] ?? null)]));
}

function asLoaded(value: Value): Value {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}

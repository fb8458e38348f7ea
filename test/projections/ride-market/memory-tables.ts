/** The ride market's tables as maps: answers loads, applies changes, checks keys. */
import type {
  Folded,
  Load,
  LoadedRow,
  Recorded,
  Value,
} from '../../../projections/contract/projection.ts';
import { rideMarket } from '../../../projections/ride-market/ride-market.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { keyOf, TableMaps, type Named } from '../table-maps.ts';
import { plainRows } from '../../support/plain-rows.ts';

export class MemoryTables extends TableMaps {
  constructor() {
    super(rideMarket);
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
      rideMarket.loads(fresh).map((load) => [load.name, this.#answer(load)]),
    );
    const folded = rideMarket.fold(loaded, batch, plainRows);
    if (!('broken' in folded)) this.change(folded.changes);
    return folded;
  }

  /** As pg gives them: int8 and numeric as text. */
  #answer(load: Load): readonly LoadedRow[] {
    const asked: unknown = 'text' in load ? load.values[0] : load.keys;
    const wanted = new Set((Array.isArray(asked) ? asked : []).map(keyOf));
    return this.#found(load, wanted).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asLoaded(value)])),
    );
  }

  #found(load: Load, wanted: ReadonlySet<string>): readonly Named[] {
    if ('table' in load) return this.where(load.table.name, load.table.key[0] ?? '', wanted);
    switch (load.name) {
      case 'requests_of_offers':
        return this.where(
          'open_requests',
          'hash',
          new Set(
            this.where('offers', 'hash', wanted).map((offer) => keyOf(offer['request_hash'])),
          ),
        );
      case 'journal':
        return this.where('journal', 'height', wanted);
      default:
        throw new Error(`the ride market asks for ${load.name}, which these tables cannot answer`);
    }
  }
}

function asLoaded(value: Value): Value {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}

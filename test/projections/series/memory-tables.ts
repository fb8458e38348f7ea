/** The tables of the series as maps: answers loads, applies changes, checks keys. */
import type {
  Folded,
  Load,
  LoadedRow,
  Recorded,
} from '../../../projections/contract/projection.ts';
import { series } from '../../../projections/series/series.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { plainRows } from '../../support/plain-rows.ts';
import { keyOf, TableMaps, type Named } from '../table-maps.ts';

export class MemoryTables extends TableMaps {
  constructor() {
    super(series);
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
      series.loads(fresh).map((load) => [load.name, this.#found(load).map(asLoaded)]),
    );
    const folded = series.fold(loaded, batch, plainRows);
    if (!('broken' in folded)) this.change(folded.changes);
    return folded;
  }

  /** No more than a load asks for: a fold that needs another row shows. */
  #found(load: Load): readonly Named[] {
    const asked: unknown = 'text' in load ? load.values[0] : load.keys;
    const wanted = new Set((Array.isArray(asked) ? asked : []).map(keyOf));
    if ('table' in load) return this.where(load.table.name, load.table.key[0] ?? '', wanted);
    const from = this.#openHour();
    switch (load.name) {
      case 'hours':
      case 'producers':
        return this.rows(load.name).filter(({ hour }) => Number(hour) >= from);
      case 'days':
        return this.rows('days').filter(({ day }) => Number(day) >= Math.floor(from / 24));
      case 'journal':
        return this.where('journal', 'height', wanted);
      default:
        throw new Error(`the series ask for ${load.name}, which these tables cannot answer`);
    }
  }

  #openHour(): number {
    const final = Number(this.rows('head')[0]?.['finalized_height'] ?? -1);
    return Math.min(
      ...this.rows('hours').flatMap(({ hour, last_height: last }) =>
        Number(last) >= final ? [Number(hour)] : [],
      ),
    );
  }
}

/** As pg gives them: int8 and numeric as text. */
function asLoaded(row: Named): LoadedRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' || typeof value === 'bigint' ? String(value) : value,
    ]),
  );
}

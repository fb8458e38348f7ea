/** Reads the rows that a fold needs. */
import type { ClientBase, Pool } from 'pg';
import type {
  KeyedLoad,
  Load,
  Loaded,
  LoadedRow,
  SelectLoad,
  Value,
} from '../../../projections/contract/projection.ts';
import { inOrder } from '../../runtime/postgres/pipeline.ts';

/** Rows that need not be read, since they are in memory. */
export interface KnownRows {
  /** The known rows among the wanted ones, and the keys of the others. */
  find(load: KeyedLoad): {
    readonly rows: readonly LoadedRow[];
    readonly missing: readonly Value[];
  };
}

/** From Postgres; the statements are sent together. */
export async function loadRows(
  client: Pick<ClientBase, 'query'>,
  loads: readonly Load[],
): Promise<Loaded> {
  const loaded = loads.map(async (load) => [load.name, await select(client, load)] as const);
  return Object.fromEntries(await inOrder(loaded));
}

/**
 * From Postgres, one statement after the other, except rows that are known. Where a row is known
 * twice, the first counts.
 */
export async function loadMissingRows(
  pool: Pick<Pool, 'query'>,
  loads: readonly Load[],
  known: readonly KnownRows[],
): Promise<Loaded> {
  const loaded: Record<string, readonly LoadedRow[]> = {};
  for (const load of loads) {
    if ('text' in load) {
      loaded[load.name] = await select(pool, load);
      continue;
    }
    let rows: readonly LoadedRow[] = [];
    let { keys } = load;
    for (const each of known) {
      const found = each.find({ ...load, keys });
      rows = rows.concat(found.rows);
      keys = found.missing;
    }
    loaded[load.name] =
      keys.length === 0 ? rows : rows.concat(await select(pool, { ...load, keys }));
  }
  return loaded;
}

/** The SELECT of a load. */
export function selectOf(load: Load): SelectLoad {
  if ('text' in load) return load;
  const { name, table, keys } = load;
  const [key = ''] = table.key;
  const text = `SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name} WHERE ${key} = ANY($1::${table.columns[key] ?? ''}[])`;
  return { name, text, values: [keys] };
}

async function select(
  client: Pick<ClientBase, 'query'>,
  load: Load,
): Promise<readonly LoadedRow[]> {
  const { name, text, values } = selectOf(load);
  const { rows } = await client.query<LoadedRow>({
    name: `load_${name}`,
    text,
    values: [...values],
  });
  return rows;
}

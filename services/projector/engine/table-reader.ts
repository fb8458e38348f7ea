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

/** Rows that are changed and not written yet. */
export interface Unwritten {
  /** The unwritten rows among the wanted ones, and the keys of the others. */
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

/** From Postgres, one statement after the other, except rows that are not written yet. */
export async function loadMissingRows(
  pool: Pick<Pool, 'query'>,
  loads: readonly Load[],
  unwritten: Unwritten,
): Promise<Loaded> {
  const loaded: Record<string, readonly LoadedRow[]> = {};
  for (const load of loads) {
    if ('text' in load) {
      loaded[load.name] = await select(pool, load);
      continue;
    }
    const { rows, missing } = unwritten.find(load);
    loaded[load.name] =
      missing.length === 0 ? rows : [...rows, ...(await select(pool, { ...load, keys: missing }))];
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

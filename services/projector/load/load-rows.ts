/** What a fold has to know of the tables: remembered, or asked for. */
import type { ClientBase } from 'pg';
import type { Load, Loaded, LoadedRow } from '../../../projections/contract/projection.ts';
import { askedLoad } from './asked-load.ts';
import type { RowMemory } from './row-memory.ts';

type Client = Pick<ClientBase, 'query'>;

export async function loadRows(
  client: Client,
  loads: readonly Load[],
  memory: RowMemory | undefined,
): Promise<Loaded> {
  const loaded: Record<string, readonly LoadedRow[]> = {};
  for (const each of loads) {
    if ('text' in each || memory === undefined) {
      loaded[each.name] = await ask(client, each);
      continue;
    }
    const { rows, missing } = memory.recall(each);
    loaded[each.name] =
      missing.length === 0 ? rows : [...rows, ...(await ask(client, { ...each, keys: missing }))];
  }
  return loaded;
}

async function ask(client: Client, asked: Load): Promise<readonly LoadedRow[]> {
  const { name, text, values } = askedLoad(asked);
  const { rows } = await client.query<LoadedRow>({
    name: `load_${name}`,
    text,
    values: [...values],
  });
  return rows;
}

import type { AskedLoad, Load } from '../../../projections/contract/projection.ts';

/** The SELECT of a load. */
export function askedLoad(load: Load): AskedLoad {
  if ('text' in load) return load;
  const { name, table, keys } = load;
  const [key = ''] = table.key;
  const text = `SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name} WHERE ${key} = ANY($1::${table.columns[key] ?? ''}[])`;
  return { name, text, values: [keys] };
}

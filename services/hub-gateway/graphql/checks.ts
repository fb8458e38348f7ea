/** Whether the hub can do its work: the chain's parameters are known, and both read models can be read and have all their indexes. */
import type { Reader, Statement } from '../../runtime/postgres/pool.ts';
import type { Check } from '../../runtime/process/readiness.ts';
import type { ChainParameters } from './chain-info.ts';

const READ_MODELS = ['explorer', 'ride_market'];

/** Columns: projection, whether it is indexed. */
const INDEXED: Statement = {
  name: 'hub_is_indexed',
  text: `SELECT projection, indexed_at IS NOT NULL FROM projector.projections WHERE projection IN ('explorer', 'ride_market')`,
  values: [],
};

export function hubChecks(
  reader: Reader,
  chain: Pick<ChainParameters, 'matter'>,
): readonly Check[] {
  const readModels = async (): Promise<string | undefined> => {
    const indexed = new Map(
      (await reader.rows(INDEXED)).map(([name, isIndexed]) => [name, isIndexed === 't']),
    );
    const matters = READ_MODELS.flatMap((name) => {
      const isIndexed = indexed.get(name);
      if (isIndexed === undefined) return [`${name} is not there: start projector ${name}`];
      return isIndexed
        ? []
        : [`${name} is being built, and slow until it is: see /ready of projector ${name}`];
    });
    return matters.length === 0 ? undefined : matters.join('; ');
  };
  return [
    { name: 'chain', check: () => chain.matter },
    { name: 'read models', check: readModels },
  ];
}

/** The hub is ready when the chain's parameters are known and both read models are indexed. */
import type { Reader, Statement } from '../runtime/postgres/pool.ts';
import type { Check, HealthProblem } from '../runtime/process/health.ts';
import type { ChainParameters } from './graphql/chain-parameters.ts';

const READ_MODELS = ['explorer', 'ride_market'];

/** Columns: projection, whether it is indexed. */
const INDEXED: Statement = {
  name: 'hub_is_indexed',
  text: `SELECT projection, indexed_at IS NOT NULL FROM projector.projections WHERE projection IN ('explorer', 'ride_market')`,
  values: [],
};

export function hubChecks(
  reader: Reader,
  chain: Pick<ChainParameters, 'problem'>,
): readonly Check[] {
  const readModels = async (): Promise<HealthProblem | undefined> => {
    const indexed = new Map(
      (await reader.rows(INDEXED)).map(([name, isIndexed]) => [name, isIndexed === 't']),
    );
    const missing = READ_MODELS.filter((name) => indexed.get(name) !== true);
    if (missing.length === 0) return undefined;
    const messages = missing.map((name) =>
      indexed.has(name)
        ? `${name} is being built, and slow until it is: see /ready of projector ${name}`
        : `${name} is not there: start projector ${name}`,
    );
    const waits_for = `projection:${missing[0]}`;
    return { status: 'waiting', waits_for, message: messages.join('; ') };
  };
  return [
    { name: 'chain', check: () => chain.problem },
    { name: 'read models', projection: 'explorer', check: readModels },
  ];
}

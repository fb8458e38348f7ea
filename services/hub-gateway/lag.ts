/** The lag of the hub's read models behind the node. */
import { indexedHead } from '../../projections/explorer/queries/chain.ts';
import { marketHead } from '../../projections/ride-market/queries.ts';
import type { NodeHead } from '../runtime/clt-node.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { projectorOf } from '../runtime/process/config.ts';
import type { Check, HealthProblem } from '../runtime/process/health.ts';

/** Ready while both read models are near the node; one that cannot be reached says nothing. */
export function lagCheck(
  reader: Reader,
  head: () => Promise<NodeHead | undefined>,
  lagMax: number,
): Check {
  const check = async (): Promise<HealthProblem | undefined> => {
    const [accounts, market, newest] = await Promise.all([
      reader.rows(indexedHead()),
      reader.rows(marketHead()),
      head(),
    ]);
    if (newest === undefined) return undefined;
    const heights = [
      ['explorer', accounts[0]?.[0]],
      ['ride_market', market[0]?.[1]],
    ] as const;
    const late = heights
      .map(([name, height]) => ({ name, lag: newest.height - Number(height ?? -1) }))
      .find(({ lag }) => lag > lagMax);
    if (late === undefined) return undefined;
    const { name, lag } = late;
    const message = `${name} is ${lag} blocks behind the node, more than ${lagMax}: see /ready of chain-ingester and ${projectorOf(name)}`;
    return { status: 'waiting', waits_for: `projection:${name}`, message };
  };
  return { name: 'lag', projection: 'explorer', check };
}

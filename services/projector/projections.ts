/** Every projection there is, by the name that `projector <name>` takes. */
import { explorer } from '../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import type { Projection } from '../../projections/projection.ts';

export const PROJECTIONS: Readonly<Record<string, Projection<ChainEvent>>> = { explorer };

/** The projection of that name; a name there is not is answered with those there are. */
export function projectionNamed(name: string | undefined): Projection<ChainEvent> | { readonly refused: string } {
  const found = name === undefined || !Object.hasOwn(PROJECTIONS, name) ? undefined : PROJECTIONS[name];
  return found ?? { refused: `usage: projector <name>, where <name> is one of: ${Object.keys(PROJECTIONS).join(', ')}` };
}

/** The blocks of a node as they are born. */
import { toHex } from '../../schemas/address.ts';
import { parseBlock } from '../../schemas/chain-node.ts';

/** An answer that comes sooner is of a block that was there already. */
const WAITED_MS_MIN = 5;

export interface Birth {
  readonly height: number;
  /** `performance.now()`; undefined: it was there already, born nobody knows when */
  readonly born: number | undefined;
  /** the block, as the node tells it */
  readonly json: unknown;
}

/** Each block from this height on, for ever; take it without waiting in between. */
export async function* birthsFrom(node_url: string, first: number): AsyncGenerator<Birth, never> {
  for (let height = first; ; height++) {
    const asked = performance.now();
    const response = await fetch(`${node_url}/v1/blocks/${height}?wait_ms=10000`);
    const json: unknown = await response.json();
    const born = performance.now();
    if (!response.ok)
      throw new Error(`the node has no block ${height}: it answered ${response.status}`);
    yield { height, born: born - asked < WAITED_MS_MIN ? undefined : born, json };
  }
}

/** The hash of a ride request in the block; undefined when it has none. */
export function requestIn(block: unknown): string | undefined {
  const parsed = parseBlock(block);
  if ('problem' in parsed) throw new Error(parsed.problem);
  const request = parsed.value.transactions.find(
    ({ function_call_type: type }) => type === 'RideRequest',
  );
  return request && toHex(request.hash);
}

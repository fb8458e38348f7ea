/** The newest blocks, kept from page to page, so that a reorganisation is seen as it happens. */
import type { Block } from './explorer.ts';

export interface Replaced {
  readonly from: number;
  readonly to: number;
}

export interface LiveBlocks {
  /** newest first */
  readonly blocks: readonly Block[];
  /** hashes that the page before did not have; none on the first page */
  readonly arrived: ReadonlySet<string>;
  /** the newest reorganisation seen */
  readonly replaced: Replaced | undefined;
}

export const NO_BLOCKS: LiveBlocks = { blocks: [], arrived: new Set(), replaced: undefined };

/** `page`: newest first, as the explorer answers. */
export function withPage(before: LiveBlocks, page: readonly Block[]): LiveBlocks {
  const known = new Map(before.blocks.map(({ height, hash }) => [height, hash]));
  const replaced = page.filter(({ height, hash }) => (known.get(height) ?? hash) !== hash);
  const heights = replaced.map(({ height }) => height);
  const hashes = new Set(known.values());
  const isFirst = before.blocks.length === 0;
  return {
    blocks: page,
    arrived: new Set(
      isFirst ? [] : page.map(({ hash }) => hash).filter((hash) => !hashes.has(hash)),
    ),
    replaced:
      heights.length === 0
        ? before.replaced
        : { from: Math.min(...heights), to: Math.max(...heights) },
  };
}

/** The newest blocks, kept from page to page, so that a reorganisation is seen as it happens. */
import type { Block } from '../../../../schemas/explorer-api/blocks.ts';

export interface LiveBlocks {
  /** newest first */
  readonly blocks: readonly Block[];
  /** hashes that the page before did not have; none on the first page */
  readonly arrived: ReadonlySet<string>;
  /** by height, the newest block that a block of this page has replaced */
  readonly orphans: ReadonlyMap<number, Block>;
}

export const NO_BLOCKS: LiveBlocks = { blocks: [], arrived: new Set(), orphans: new Map() };

/** `page`: newest first, as the explorer answers. */
export function withPage(before: LiveBlocks, page: readonly Block[]): LiveBlocks {
  const known = new Map(before.blocks.map((block) => [block.height, block]));
  const hashes = new Set(before.blocks.map(({ hash }) => hash));
  const orphans = page.flatMap(({ height, hash }): readonly (readonly [number, Block])[] => {
    const own = known.get(height);
    const orphan = own === undefined || own.hash === hash ? before.orphans.get(height) : own;
    return orphan === undefined ? [] : [[height, orphan]];
  });
  return {
    blocks: page,
    arrived: new Set(
      known.size === 0 ? [] : page.map(({ hash }) => hash).filter((hash) => !hashes.has(hash)),
    ),
    orphans: new Map(orphans),
  };
}

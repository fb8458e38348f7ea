/** Opens the chain of a directory, or begins one there, and keeps it: blocks in the log, an index and snapshots so that the next start is quick. */
import fs from 'node:fs';
import path from 'node:path';
import { toHex } from '../../../schemas/address.ts';
import type { NodeBlock } from '../../../schemas/chain-node.ts';
import { parseBlock } from '../../../schemas/chain-node.ts';
import type { Block } from '../clt/block.ts';
import { Chain } from '../clt/chain.ts';
import type { Genesis } from '../clt/genesis.ts';
import { verifiedBefore } from '../clt/verify.ts';
import { BlockIndex } from './block-index.ts';
import { BlockLog, DamagedLog } from './block-log.ts';
import type { Snapshot } from './snapshot.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';

const SNAPSHOT_BLOCKS = 256;
const SNAPSHOT_TRANSACTIONS = 20_000;

export class ChainStore {
  readonly chain: Chain;
  readonly #log: BlockLog;
  readonly #index: BlockIndex;
  readonly #snapshotPath: string;
  /** offset of the record that holds the block, for the last final block and all above it */
  readonly #recordOffsets = new Map<number, number>();
  #blocksSinceSnapshot = 0;
  #transactionsSinceSnapshot = 0;

  /** Throws `DamagedLog` when the directory holds something else than what was written there. */
  constructor(directory: string, genesis: Genesis) {
    fs.mkdirSync(directory, { recursive: true });
    this.#snapshotPath = path.join(directory, 'snapshot.json');
    this.#log = new BlockLog(path.join(directory, 'blocks.log'));
    this.#index = new BlockIndex(path.join(directory, 'blocks.index'));
    const snapshot = this.#usableSnapshot();
    this.chain = new Chain(
      genesis.parameters,
      snapshot?.anchor ?? genesis.block,
      snapshot?.rows ?? genesis.rows(),
    );
    this.#replay(snapshot?.record_offset ?? 0);
    if (this.#index.length === 0) this.keep([genesis.block]);
    if (this.#index.length !== this.chain.head.height + 1)
      throw new DamagedLog(this.#log.path, this.#log.end, 'blocks are missing');
  }

  /** Writes blocks that the chain has just made its newest, in one record. No kill of the process loses them from here on. */
  keep(blocks: readonly Block[]): void {
    const { offset, places } = this.#log.append(blocks.map((block) => block.text));
    for (const [position, block] of blocks.entries()) {
      const place = places[position];
      if (place === undefined) throw new Error('the log did not say where the block stands');
      this.#index.set(block.height, place);
      this.#recordOffsets.set(block.height, offset);
      this.#blocksSinceSnapshot++;
      this.#transactionsSinceSnapshot += block.transactions.length;
    }
    if (
      this.#blocksSinceSnapshot >= SNAPSHOT_BLOCKS ||
      this.#transactionsSinceSnapshot >= SNAPSHOT_TRANSACTIONS
    )
      this.#saveSnapshot();
  }

  /** Resolves when all that was kept is on the disk. */
  flush(): Promise<void> {
    return this.#log.flush();
  }

  /** JSON of the block at a height that exists. */
  read(height: number): Promise<Buffer> {
    return this.#log.read(this.#placeOf(height));
  }

  /** JSON of the blocks from one height on, ascending, separated by commas: as many as fit into `bytes_max`, at least the first. */
  readRange(from: number, to: number, bytes_max: number): Promise<readonly Buffer[]> {
    let bytes = 0;
    const places = [];
    for (let height = from; height <= to; height++) {
      const place = this.#placeOf(height);
      bytes += place.length;
      if (places.length > 0 && bytes > bytes_max) break;
      places.push(place);
    }
    return Promise.all(places.map((place) => this.#log.read(place)));
  }

  /** A last snapshot, so that the next start has little to do. */
  async close(): Promise<void> {
    await this.#log.flush();
    this.#saveSnapshot();
    this.#log.close();
  }

  #placeOf(height: number): { readonly offset: number; readonly length: number } {
    const place = this.#index.at(height);
    if (place === undefined) throw new Error(`there is no block ${height}`);
    return place;
  }

  #usableSnapshot(): Snapshot | undefined {
    const snapshot = loadSnapshot(this.#snapshotPath);
    const usable =
      snapshot !== undefined &&
      snapshot.record_offset < this.#log.end &&
      this.#index.load(snapshot.anchor.height + 1);
    return usable ? snapshot : undefined;
  }

  #saveSnapshot(): void {
    const { anchor, rows } = this.chain.finalRows();
    const recordOffset = this.#recordOffsets.get(anchor.height);
    if (recordOffset === undefined) return;
    // the log first: a snapshot of blocks that a loss of power took would be of another chain
    this.#log.sync();
    this.#index.save(anchor.height + 1);
    saveSnapshot(this.#snapshotPath, { anchor, record_offset: recordOffset, rows });
    this.#blocksSinceSnapshot = 0;
    this.#transactionsSinceSnapshot = 0;
    for (const height of this.#recordOffsets.keys())
      if (height < anchor.height) this.#recordOffsets.delete(height);
  }

  /** Executes what the log holds above the chain's anchor; every block must come out with the hash under which it was written. */
  #replay(from: number): void {
    const anchor = this.chain.head;
    for (const { offset, lines } of this.#log.records(from)) {
      for (const { text, place } of lines) {
        const parsed = parseBlock(JSON.parse(text));
        if ('problem' in parsed) throw new DamagedLog(this.#log.path, place.offset, parsed.problem);
        const block = parsed.value;
        this.#recordOffsets.set(block.height, offset);
        if (block.height < anchor.height) continue;
        const hash =
          block.height === anchor.height ? anchor.hash : this.#execute(block, place.offset);
        if (hash !== toHex(block.hash)) {
          throw new DamagedLog(
            this.#log.path,
            place.offset,
            `block ${block.height} should have hash ${hash}: made by other rules or settings`,
          );
        }
        if (block.height > anchor.height || this.#index.length === 0)
          this.#index.set(block.height, place);
      }
    }
  }

  #execute(block: NodeBlock, offset: number): string {
    const { chain } = this;
    const depth = chain.head.height + 1 - block.height;
    if (depth < 0)
      throw new DamagedLog(
        this.#log.path,
        offset,
        `block ${block.height} follows block ${chain.head.height}`,
      );
    if (block.height <= chain.finalizedHeight)
      throw new DamagedLog(this.#log.path, offset, `block ${block.height} replaces a final one`);
    if (depth > 0) chain.rollBack(depth);
    const seat = {
      height: block.height,
      parent_hash: chain.head.hash,
      timestamp: block.timestamp,
      validator: {
        address: toHex(block.producer),
        reward_recipient: toHex(block.reward_recipient),
      },
    };
    const assembled = chain.assemble(seat, block.transactions.map(verifiedBefore));
    chain.append(assembled);
    return assembled.block.hash;
  }
}

/** The CLT chain on disk: blocks in a log, with an index and snapshots for a quick start. */
import fs from 'node:fs';
import path from 'node:path';
import { toHex } from '../../../schemas/address.ts';
import { parseBlock, type NodeBlock } from '../../../schemas/chain-node.ts';
import type { Block } from '../clt/block.ts';
import { Chain, type Anchor, type Authority } from '../clt/chain.ts';
import { verifiedByUs } from '../clt/execute.ts';
import type { Genesis } from '../clt/genesis.ts';
import type { ActiveTrip, OpenOffer, OpenRequest, Rows } from '../clt/state.ts';
import { BlockIndex, BlockLog, type LineRange } from './block-log.ts';
import { replaceFile } from './identity.ts';

const SNAPSHOT_BLOCKS = 256;
const SNAPSHOT_TRANSACTIONS = 20_000;

export class ChainStore {
  readonly chain: Chain;
  readonly #log: BlockLog;
  readonly #index: BlockIndex;
  readonly #snapshotPath: string;
  readonly #authoritiesPath: string;
  /** offset of each block's record, from the last final block up */
  readonly #recordOffsets = new Map<number, number>();
  #blocksSinceSnapshot = 0;
  #transactionsSinceSnapshot = 0;

  /** Opens the chain of the directory or begins one. Throws `DamagedLog`. */
  constructor(directory: string, genesis: Genesis) {
    fs.mkdirSync(directory, { recursive: true });
    this.#snapshotPath = path.join(directory, 'snapshot.json');
    this.#authoritiesPath = path.join(directory, 'authorities.json');
    this.#log = new BlockLog(path.join(directory, 'blocks.log'));
    this.#index = new BlockIndex(path.join(directory, 'blocks.index'));
    const snapshot = this.#usableSnapshot();
    this.chain = new Chain(
      genesis.parameters,
      snapshot?.anchor ?? genesis.block,
      snapshot?.rows ?? genesis.rows(),
      loadAuthorities(this.#authoritiesPath),
    );
    this.#replay(snapshot?.record_offset ?? 0);
    if (this.#index.length === 0) this.write([genesis.block]);
    if (this.#index.length !== this.chain.head.height + 1)
      throw this.#log.damaged(this.#log.end, 'blocks are missing');
  }

  /** On disk before a block depends on it. */
  setAuthorities(authorities: readonly Authority[]): void {
    replaceFile(this.#authoritiesPath, JSON.stringify(authorities));
    this.chain.setAuthorities(authorities);
  }

  /** Writes the newest blocks in one record; they then survive a kill of the process. */
  write(blocks: readonly Block[]): void {
    const { offset, ranges } = this.#log.append(blocks.map((block) => block.text));
    for (const [position, block] of blocks.entries()) {
      const range = ranges[position];
      if (range === undefined) throw new Error('the log returned no position of the block');
      this.#index.set(block.height, range);
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

  /** Resolves when every block is on disk. */
  flush(): Promise<void> {
    return this.#log.flush();
  }

  /** JSON of the block at an existing height. */
  read(height: number): Promise<Buffer> {
    return this.#log.read(this.#range(height));
  }

  /** JSON of the blocks from `from` to `to`: as many as fit into `bytes_max`, at least one. */
  readRange(from: number, to: number, bytes_max: number): Promise<readonly Buffer[]> {
    let bytes = 0;
    const ranges = [];
    for (let height = from; height <= to; height++) {
      const range = this.#range(height);
      bytes += range.length;
      if (ranges.length > 0 && bytes > bytes_max) break;
      ranges.push(range);
    }
    return Promise.all(ranges.map((range) => this.#log.read(range)));
  }

  async close(): Promise<void> {
    await this.#log.flush();
    this.#saveSnapshot();
    this.#log.close();
  }

  #range(height: number): LineRange {
    const range = this.#index.at(height);
    if (range === undefined) throw new Error(`there is no block ${height}`);
    return range;
  }

  #usableSnapshot(): Snapshot | undefined {
    const snapshot = loadSnapshot(this.#snapshotPath);
    if (snapshot === undefined || snapshot.record_offset >= this.#log.end) return undefined;
    return this.#index.load(snapshot.anchor.height + 1) ? snapshot : undefined;
  }

  #saveSnapshot(): void {
    const { anchor, rows } = this.chain.finalRows();
    const recordOffset = this.#recordOffsets.get(anchor.height);
    if (recordOffset === undefined) return;
    // the log first: a power loss must not leave a snapshot of lost blocks
    this.#log.sync();
    this.#index.save(anchor.height + 1);
    saveSnapshot(this.#snapshotPath, { anchor, record_offset: recordOffset, rows });
    this.#blocksSinceSnapshot = 0;
    this.#transactionsSinceSnapshot = 0;
    for (const height of this.#recordOffsets.keys())
      if (height < anchor.height) this.#recordOffsets.delete(height);
  }

  /** Executes the logged blocks above the anchor. Each must result in its logged hash. */
  #replay(from: number): void {
    const anchor = this.chain.head;
    for (const { offset, lines } of this.#log.records(from)) {
      for (const { text, range } of lines) {
        const parsed = parseBlock(JSON.parse(text));
        if ('problem' in parsed) throw this.#log.damaged(range.offset, parsed.problem);
        const block = parsed.value;
        this.#recordOffsets.set(block.height, offset);
        if (block.height < anchor.height) continue;
        const hash =
          block.height === anchor.height ? anchor.hash : this.#execute(block, range.offset);
        if (hash !== toHex(block.hash))
          throw this.#log.damaged(
            range.offset,
            `block ${block.height} should have hash ${hash}: it was made by other rules or settings`,
          );
        if (block.height > anchor.height || this.#index.length === 0)
          this.#index.set(block.height, range);
      }
    }
  }

  #execute(block: NodeBlock, offset: number): string {
    const { chain } = this;
    const depth = chain.head.height + 1 - block.height;
    if (depth < 0)
      throw this.#log.damaged(offset, `block ${block.height} follows block ${chain.head.height}`);
    if (block.height <= chain.finalized_height)
      throw this.#log.damaged(offset, `block ${block.height} replaces a final one`);
    if (depth > 0) chain.rollBack(depth);
    const { height, timestamp } = block;
    const reward_recipient = toHex(block.reward_recipient);
    const validator = { address: toHex(block.producer), reward_recipient };
    const has = (kind: string): boolean =>
      block.balance_effects.some((effect) => effect.kind === kind);
    const hides_fees = has('tx_fee_earned') && !has('tx_fee_paid');
    const slot = { height, parent_hash: chain.head.hash, timestamp, validator, hides_fees };
    const transactions = block.transactions.map(({ raw, from }) => verifiedByUs(raw, toHex(from)));
    const assembled = chain.assemble(slot, transactions);
    chain.append(assembled);
    return assembled.block.hash;
  }
}

function loadAuthorities(file: string): readonly Authority[] {
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
}

/** The state after a final block. A start executes only the blocks above it. */
interface Snapshot {
  readonly anchor: Anchor;
  /** of the record that holds the anchor's block */
  readonly record_offset: number;
  readonly rows: Rows;
}

/** Amounts are decimal text in the file. */
interface SnapshotFile extends Omit<Snapshot, 'rows'> {
  readonly supply: readonly [string, string][];
  readonly accounts: readonly [address: string, balance: string, nonce: number][];
  readonly requests: readonly [string, OpenRequest][];
  readonly offers: readonly [string, OpenOffer][];
  readonly trips: readonly [string, ActiveTrip][];
}

function saveSnapshot(file: string, { anchor, record_offset, rows }: Snapshot): void {
  const stored: SnapshotFile = {
    anchor,
    record_offset,
    supply: [...rows.supply].map(([key, amount]) => [key, String(amount)]),
    accounts: [...rows.accounts].map(([address, { balance, nonce }]) => [
      address,
      String(balance),
      nonce,
    ]),
    requests: [...rows.requests],
    offers: [...rows.offers],
    trips: [...rows.trips],
  };
  const json = JSON.stringify(stored, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  replaceFile(file, json);
}

/** Undefined when there is none. The caller checks that it fits the log. */
function loadSnapshot(file: string): Snapshot | undefined {
  if (!fs.existsSync(file)) return undefined;
  const stored: SnapshotFile = JSON.parse(fs.readFileSync(file, 'utf8'), (key, value) =>
    key === 'fare' || key === 'paid' ? BigInt(value) : value,
  );
  const { anchor, record_offset, supply, accounts, requests, offers, trips } = stored;
  const rows = {
    supply: new Map(supply.map(([key, amount]) => [key, BigInt(amount)])),
    accounts: new Map(
      accounts.map(([address, balance, nonce]) => [address, { balance: BigInt(balance), nonce }]),
    ),
    requests: new Map(requests),
    offers: new Map(offers),
    trips: new Map(trips),
  };
  return { anchor, record_offset, rows };
}

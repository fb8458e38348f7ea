/**
 * Follows the node from the end of the log. Every block must link to the one before it; otherwise
 * the branch that the node left is reverted first. A lease lets one instance append at a time. Each
 * append is checked against the known end of the log all the same, since a former holder may not
 * know yet that it lost the lease: after another writer's append the log is read again.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { chainEventId, isChainEvent, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import type { NodeBlock, NodeChain } from '../../schemas/chain-node.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import type { ChainNode } from '../runtime/clt-node.ts';
import { undecodable, type Codec } from '../runtime/kafka/codec.ts';
import { readLogEnds } from '../runtime/kafka/ends.ts';
import type { Kafka } from '../runtime/kafka/port.ts';
import type { Held } from '../runtime/kafka/lease.ts';
import { readLogEvents } from '../runtime/kafka/log-events.ts';
import { Fault } from '../runtime/process/errors.ts';
import { fingerprint, type LogEntry } from '../runtime/kafka/record.ts';
import { Skips } from '../runtime/kafka/skips.ts';
import type { KafkaWriter } from '../runtime/kafka/writer.ts';
import type { Logger } from '../runtime/process/log.ts';
import { NO_SPAN, NO_TRACING, type Span, type Tracing } from '../runtime/process/tracing.ts';
import { untilAborted } from '../runtime/process/retry.ts';
import {
  EMPTY_TAIL,
  appended,
  beginningAt,
  continued,
  finalHeightOf,
  finalized,
  linkAt,
  nextHeight,
  reachesFinality,
  reverted,
  type Tail,
} from './tail.ts';

/** The node's limit for one response. */
const BLOCKS_MAX = 500;
/** Wanted size of one response: large blocks are requested a few at a time. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** Size of one append, below the topic's largest record batch; a larger block goes alone. */
const APPEND_BYTES = 8 * 1024 * 1024;
const LONG_POLL_MS = 10_000;
const PARTITION = 0;
const RACE_MS_MIN = 50;
const RACE_MS_MAX = 5_000;
/** Records at the end of the log that a recovery reads first. */
const FIRST_WINDOW = 32n;

interface FollowerOptions {
  /** without it nothing is appended */
  readonly lease: Pick<Held, 'is_held' | 'term'>;
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly writer: KafkaWriter;
  readonly node: ChainNode;
  readonly chain_id: number;
  readonly log: Logger;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
  /** after each acknowledged append */
  readonly onAppended: (events: readonly ChainEvent[]) => void;
  /** after an append that another writer came before */
  readonly onLostRace: () => void;
  readonly onHead: (height: number) => void;
}

export class Follower {
  readonly #options: FollowerOptions;
  #end: Tail | undefined;
  #height = -1;
  #limit = 50;
  /** races lost in a row */
  #lost = 0;
  /** in which the end was read */
  #term = 0;
  /** when the node was asked first in this round, Unix ms */
  #askedAt = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Height of the newest block known to be in the log; -1 before the first. */
  get height(): number {
    return this.#height;
  }

  /**
   * One round: reads the end of the log unless it is known, asks the node, and appends new blocks.
   * After a fault the next round reads the log again, since an append may or may not have happened.
   */
  async round(): Promise<void> {
    const { term } = this.#options.lease;
    // since the lease was held last, others may have written
    const before = term === this.#term ? this.#end : undefined;
    this.#end = undefined;
    this.#term = term;
    if (this.#lost > 0) await this.#backOff();
    const end = before ?? (await this.#recover());
    this.#end = await this.#advance(end);
    if (this.#end !== undefined) this.#height = nextHeight(this.#end) - 1;
  }

  /** At random, so that two writers do not spoil each other's appends again and again. */
  async #backOff(): Promise<void> {
    const most = Math.min(RACE_MS_MAX, RACE_MS_MIN * 2 ** Math.min(this.#lost, 10));
    await untilAborted(randomInt(RACE_MS_MIN, most), this.#options.signal);
  }

  async #recover(): Promise<Tail> {
    const { kafka, codec, log } = this.#options;
    const recovered = await recoverTail(kafka, codec);
    log.info(
      { next_height: nextHeight(recovered), next_offset: recovered.next_offset },
      'following from the end of the log',
    );
    return recovered;
  }

  async #advance(end: Tail): Promise<Tail | undefined> {
    const { node, chain_id: chainId, onHead } = this.#options;
    this.#askedAt = Date.now();
    const chain = await node.chain();
    if (chain.chain_id !== chainId) {
      throw new Fault(
        'another_chain',
        `the node serves chain ${chain.chain_id}, this service is set to ${chainId}: correct APP_NODE_URL or APP_CHAIN_ID`,
        { retry: false },
      );
    }
    onHead(chain.head.height);
    const final = finalHeightOf(end);
    if (chain.head.height < final) {
      throw new Fault(
        'node_behind',
        `the node's newest block is ${chain.head.height}, the log has final ones up to ${final}: wait for the node to catch up, or correct APP_NODE_URL if it is another chain or was reset`,
        { retry: true },
      );
    }
    const top = nextHeight(end) - 1;
    if (chain.head.height > top) return this.#append(end, await this.#extended(end, chain));
    const ours = linkAt(end, chain.head.height);
    if (ours !== undefined && !ours.hash.equals(chain.head.hash))
      return this.#append(end, await this.#otherBranch(end, chain.head.height));
    // the node's head is our block, so all blocks below it are ours, too
    const finality = ours && finalized(end, chain.finalized_height);
    if (finality !== undefined) return this.#append(end, [finality]);
    return this.#wait(end, top + 1);
  }

  /** At the head: a long poll for the next block. */
  async #wait(end: Tail, height: number): Promise<Tail | undefined> {
    const block = await this.#options.node.block(height, LONG_POLL_MS);
    if (block === undefined) return end;
    const event = appended(end, block);
    return this.#append(
      end,
      event === undefined ? await this.#otherBranch(end, height - 1) : [event],
    );
  }

  /** Behind the head: the blocks of one response, and their finality. */
  async #extended(
    tail: Tail,
    { head, finalized_height: finalizedHeight }: NodeChain,
  ): Promise<readonly ChainEvent[]> {
    const blocks = await this.#blocks(nextHeight(tail));
    const [first] = blocks;
    if (first === undefined) return [];
    if (appended(tail, first) === undefined)
      return this.#otherBranch(tail, Math.min(head.height, nextHeight(tail) - 1));
    const { tail: after, events } = extend(tail, blocks);
    // the node never takes a final block back, so these blocks, requested later, and those below
    // them are the final ones
    const final = finalized(after, Math.min(finalizedHeight, nextHeight(after) - 1));
    return final === undefined ? events : [...events, final];
  }

  async #blocks(from: number): Promise<readonly NodeBlock[]> {
    const limit = this.#limit;
    // halved in case this response does not arrive
    this.#limit = Math.max(1, Math.floor(limit / 2));
    const { blocks, bytes } = await this.#options.node.blocks(from, limit);
    const wanted = Math.floor((blocks.length * ANSWER_BYTES) / Math.max(1, bytes));
    this.#limit = Math.max(1, Math.min(BLOCKS_MAX, wanted, limit * 2));
    return blocks;
  }

  /** Reverts down to the newest common block, then appends the node's blocks. */
  async #otherBranch(tail: Tail, from: number): Promise<readonly ChainEvent[]> {
    const { node, log } = this.#options;
    let height = from;
    for (; ; height--) {
      const ours = linkAt(tail, height);
      if (ours === undefined || height < finalHeightOf(tail)) throw contradiction(tail, height);
      const theirs = await node.block(height);
      // the node is changing branches right now
      if (theirs === undefined) return [];
      if (theirs.hash.equals(ours.hash)) break;
    }
    const events: ChainEvent[] = [];
    let reduced = tail;
    while (nextHeight(reduced) - 1 > height) {
      const event = reverted(reduced);
      if (event === undefined) throw contradiction(tail, nextHeight(reduced) - 1);
      events.push(event);
      reduced = continued(reduced, event);
    }
    if (events.length > 0) {
      log.warn(
        { from_height: nextHeight(tail) - 1, to_height: height, blocks: events.length },
        'the chain was reorganized',
      );
    }
    const extension = extend(reduced, await this.#blocks(height + 1));
    return [...events, ...extension.events];
  }

  async #append(end: Tail, events: readonly ChainEvent[]): Promise<Tail | undefined> {
    if (events.length === 0) {
      await untilAborted(50, this.#options.signal);
      return end;
    }
    // after a lost race one event shows whether the end is known now: an append that does not count
    // stays in the log for ever
    const sent = this.#lost > 0 ? events.slice(0, 1) : events;
    const span = this.#spanOf(sent);
    try {
      const tail = await span.run(() => this.#appendAll(end, sent, span));
      span.end();
      return tail;
    } catch (error) {
      span.end(error);
      throw error;
    }
  }

  /** For the append, below one of the node: from the question or the newest block to its answer. */
  #spanOf(events: readonly ChainEvent[]): Span {
    const { tracing = NO_TRACING } = this.#options;
    const newest = events.findLast((event) => event.type === 'BlockAppended');
    if (newest === undefined) return NO_SPAN;
    const { height, timestamp } = newest;
    const node = tracing.begin('node', Math.min(Date.now(), Math.max(this.#askedAt, timestamp)));
    node.set('clt.height', height);
    node.set('clt.events', events.length);
    node.end();
    return node.child('append');
  }

  async #appendAll(
    end: Tail,
    events: readonly ChainEvent[],
    span: Span,
  ): Promise<Tail | undefined> {
    const { lease, writer, codec, log, onAppended, onLostRace } = this.#options;
    let tail = end;
    for (const part of toEntries(codec, events, APPEND_BYTES, span)) {
      if (!lease.is_held || lease.term !== this.#term) return undefined;
      const offset = await writer.append(CHAIN_BLOCKS.name, PARTITION, part.entries);
      if (offset !== tail.next_offset) {
        this.#lost++;
        onLostRace();
        log.warn(
          { expected: tail.next_offset, got: offset },
          'another writer appended to the log, or the log holds a batch twice: the append does not count, reading the end of the log again',
        );
        return undefined;
      }
      this.#lost = 0;
      tail = part.events.reduce(continued, tail);
      onAppended(part.events);
    }
    return tail;
  }
}

function extend(
  tail: Tail,
  blocks: readonly NodeBlock[],
): { readonly tail: Tail; readonly events: ChainEvent[] } {
  const events: ChainEvent[] = [];
  let after = tail;
  for (const block of blocks) {
    const event = appended(after, block);
    if (event === undefined) break;
    events.push(event);
    after = continued(after, event);
  }
  return { tail: after, events };
}

function contradiction(tail: Tail, height: number): Fault {
  const final = finalHeightOf(tail);
  const why =
    final < 0 ? 'and no block of the log is on it' : `but blocks up to ${final} are final`;
  return new Fault(
    'final_block_changed',
    `the node's chain differs from the log at or below height ${height}, ${why}: APP_NODE_URL points to another chain, or the node was reset; nothing is written`,
    { retry: false },
  );
}

/** The current tail of the log. Throws a fault, without retry for an impossible log. */
async function recoverTail(kafka: Kafka, codec: Codec): Promise<Tail> {
  const { low, high } = await readLogEnds(kafka, CHAIN_BLOCKS.name, PARTITION);
  if (low > 0n)
    throw new Fault(
      'log_damaged',
      `chain.blocks begins at offset ${low}, records 0 to ${low - 1n} were deleted: restore them from a backup or a replica and look for who deleted them (retention.ms must be -1), then start again; nothing is written`,
      { retry: false },
    );
  const skips = new Skips({ kafka, codec });
  await skips.refresh();
  for (let window = FIRST_WINDOW; ; window *= 4n) {
    const from = high - low > window ? high - window : low;
    const tail = await foldRange(kafka, codec, from, high, skips);
    if (from === low || reachesFinality(tail)) return { ...tail, next_offset: high };
  }
}

/** Folds while it reads: a block may have 32 MiB. */
async function foldRange(
  kafka: Kafka,
  codec: Codec,
  from: bigint,
  to: bigint,
  skips: Skips,
): Promise<Tail> {
  let tail: Tail | undefined = from === 0n ? EMPTY_TAIL : undefined;
  const range = { topic: CHAIN_BLOCKS.name, partition: PARTITION, from, to };
  await readLogEvents({ kafka, codec }, range, (event, record) => {
    const { offset } = record;
    if (!isChainEvent(event)) throw undecodable(`${event.type} is no event of the chain`);
    if (tail !== undefined) tail = continued({ ...tail, next_offset: offset }, event);
    // in the middle of the log nothing shows that a skipped block is a wrong one
    else if (!skips.has({ ...range, offset, fingerprint: fingerprint(record) }))
      tail = beginningAt(event, offset);
  });
  return tail ?? EMPTY_TAIL;
}

interface Part {
  readonly events: readonly ChainEvent[];
  readonly entries: readonly LogEntry[];
}

/** Events as records, in parts of at most about `bytesMax`; a larger event goes alone. */
export function* toEntries(
  codec: Codec,
  events: readonly ChainEvent[],
  bytesMax: number,
  span: Span = NO_SPAN,
): Generator<Part> {
  const trace = randomBytes(16).toString('hex');
  let part: { events: ChainEvent[]; entries: LogEntry[] } = { events: [], entries: [] };
  let bytes = 0;
  for (const event of events) {
    const value = codec.encode(event);
    if (part.events.length > 0 && bytes + value.length > bytesMax) {
      yield part;
      part = { events: [], entries: [] };
      bytes = 0;
    }
    part.events.push(event);
    part.entries.push({
      key: String(event.height),
      value,
      headers: {
        event_id: chainEventId(event),
        event_type: event.type,
        schema_fingerprint: codec.fingerprintOf(event.type),
        source: 'chain-ingester',
        trace_id: trace,
        ...span.headers,
      },
      // brokers refuse a record that is dated ahead
      timestamp:
        event.type === 'BlockAppended' ? Math.min(event.timestamp, Date.now()) : Date.now(),
    });
    bytes += value.length;
  }
  if (part.events.length > 0) yield part;
}

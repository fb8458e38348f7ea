/** The CLT chain without HTTP: the devnet's rules, made by hand; and the ingester's log of it. */
import { parseAddress, parseHash } from '../../../schemas/address.ts';
import { parseBlock, type NodeBlock, type NodeChain } from '../../../schemas/chain-node.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import type { Block } from '../../../infra/devnet/clt/block.ts';
import type { Chain } from '../../../infra/devnet/clt/chain.ts';
import { verify } from '../../../infra/devnet/clt/execute.ts';
import { toEntries } from '../../../services/chain-ingester/follower.ts';
import {
  appended,
  continued,
  EMPTY_TAIL,
  finalized,
  linkAt,
  nextHeight,
  reverted,
  type Tail,
} from '../../../services/chain-ingester/tail.ts';
import { ChainNode, type Submission } from '../../../services/runtime/clt-node.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import { newChain, testGenesis } from '../../support/clt-world.ts';
import { never } from '../../support/kafka.ts';
import type { MemoryKafka } from '../../support/memory-kafka.ts';

const FINALITY_DEPTH = 2;
const APPEND_BYTES = 1024 * 1024;
const GENESIS = testGenesis('thief', FINALITY_DEPTH);
const FIRST = nodeBlock(GENESIS.block);

export const CHAIN_ID = GENESIS.parameters.chain_id;
export const MINT_AUTHORITY = GENESIS.cast.mint_authority;
export const MINT_KEY = MINT_AUTHORITY.signing_key.privateKey;

/** A Mint in a block of the chain, final or not. */
export interface Minted {
  readonly tx_hash: Buffer;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  /** 0x + hex: names the deposit */
  readonly reference: string;
  readonly height: number;
  readonly block_hash: Buffer;
}

export class SimulatedNode extends ChainNode {
  /** how it shows a block that is not what it says; its hash and its height stay */
  told = (block: NodeBlock): NodeBlock => block;
  /** gets a signed transaction in place of the chain; undefined: the chain gets it */
  taken: ((raw: string) => void) | undefined;
  readonly #state: Chain = newChain(GENESIS);
  readonly #blocks: NodeBlock[] = [FIRST];
  readonly #onRequest: (what: 'read' | 'submit') => void;

  constructor(onRequest: (what: 'read' | 'submit') => void) {
    super('http://127.0.0.1:1', never);
    this.#onRequest = onRequest;
  }

  override async chain(): Promise<NodeChain> {
    this.#onRequest('read');
    const { parameters, head, finalized_height } = this.#state;
    const { chain_id, is_testnet, tx_fee } = parameters;
    return {
      chain_id,
      is_testnet,
      tx_fee,
      total_supply: this.#state.supply(),
      genesis_allocation: GENESIS.allocation,
      mint_authority: bytesOf(parseAddress(this.#state.mintAuthority(head.height + 1))),
      head: { height: head.height, hash: bytesOf(parseHash(head.hash)) },
      finalized_height,
    };
  }

  override async block(height: number): Promise<NodeBlock | undefined> {
    this.#onRequest('read');
    return this.all[height];
  }

  override async submit(raw: string): Promise<Submission> {
    this.#onRequest('submit');
    if (this.taken !== undefined) {
      this.taken(raw);
      return { code: 'accepted', json: {} };
    }
    const verified = verify(Buffer.from(raw.slice(2), 'hex'), CHAIN_ID);
    const refused = 'refused' in verified ? verified : this.#state.mempool.add(verified);
    return { code: refused === undefined ? 'accepted' : refused.refused, json: {} };
  }

  get height(): number {
    return this.#state.head.height;
  }

  get final_height(): number {
    return this.#state.finalized_height;
  }

  /** From the first one on, as it shows them. */
  get all(): readonly NodeBlock[] {
    return this.#blocks.map((block) => this.told(block));
  }

  /** Another node of the same chain, which tells the truth. */
  get honest(): ChainNode {
    return new HonestNode(this, this.#blocks);
  }

  mine(now: number): void {
    const assembled = this.#state.propose(now);
    this.#state.append(assembled);
    this.#blocks.push(nodeBlock(assembled.block));
  }

  /** Replaces this many blocks, or all that are not final, by one more; their number. */
  reorganise(depth: number, now: number, random: () => number): number {
    const most = Math.min(depth, this.height - this.final_height);
    if (most < 1) return 0;
    const { removed, added } = this.#state.reorganise(most, now, random);
    this.#blocks.splice(
      this.#blocks.length - removed.length,
      removed.length,
      ...added.map(nodeBlock),
    );
    return most;
  }

  /** Every Mint of the chain. */
  get mints(): readonly Minted[] {
    return this.#blocks.flatMap(({ height, hash: block_hash, transactions }) =>
      transactions.flatMap(({ function_call_type, hash, nonce, to, amount, arguments: given }) =>
        function_call_type === 'Mint'
          ? [
              {
                tx_hash: hash,
                nonce,
                to,
                amount,
                reference: given['reference'] ?? '',
                height,
                block_hash,
              },
            ]
          : [],
      ),
    );
  }
}

class HonestNode extends ChainNode {
  readonly #node: SimulatedNode;
  readonly #blocks: readonly NodeBlock[];

  constructor(node: SimulatedNode, blocks: readonly NodeBlock[]) {
    super('http://127.0.0.1:1', never);
    this.#node = node;
    this.#blocks = blocks;
  }

  override chain(): Promise<NodeChain> {
    return this.#node.chain();
  }

  override async block(height: number): Promise<NodeBlock | undefined> {
    return this.#blocks[height];
  }
}

/** Brings `chain.blocks` to where the node is, as the ingester does. */
export class Ingester {
  readonly #kafka: MemoryKafka;
  readonly #codec: Codec;
  readonly #node: SimulatedNode;
  #tail: Tail = EMPTY_TAIL;

  constructor(kafka: MemoryKafka, codec: Codec, node: SimulatedNode) {
    this.#kafka = kafka;
    this.#codec = codec;
    this.#node = node;
  }

  sync(): void {
    const { all, height, final_height: final } = this.#node;
    const events: ChainEvent[] = [];
    const put = (event: ChainEvent | undefined): void => {
      if (event === undefined) return;
      events.push(event);
      this.#tail = continued(this.#tail, event);
    };
    while (nextHeight(this.#tail) > 0) {
      const top = nextHeight(this.#tail) - 1;
      if (all[top]?.hash.equals(linkAt(this.#tail, top)?.hash ?? Buffer.alloc(0)) === true) break;
      put(reverted(this.#tail));
    }
    while (nextHeight(this.#tail) <= height) {
      const block = all[nextHeight(this.#tail)];
      if (block === undefined) break;
      put(appended(this.#tail, block));
    }
    put(finalized(this.#tail, final));
    for (const { entries } of toEntries(this.#codec, events, APPEND_BYTES))
      this.#kafka.append(CHAIN_BLOCKS.name, 0, entries);
  }
}

function nodeBlock({ text }: Block): NodeBlock {
  const read = parseBlock(JSON.parse(text));
  if ('problem' in read) throw new Error(read.problem);
  return read.value;
}

function bytesOf(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new Error('the chain has a malformed address or hash');
  return bytes;
}

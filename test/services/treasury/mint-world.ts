/**
 * A world for minting: its own topics, one of them of a chain, a devnet that makes blocks on
 * demand, and treasuries that mint on it.
 */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import type { Addresses } from '../../../infra/services/services.ts';
import type { Key } from '../../../infra/devnet/clt/keys.ts';
import { toHex } from '../../../schemas/address.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../../schemas/topics.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import type { NodeBlock } from '../../../schemas/chain-node.ts';
import type { SignedDecision } from '../../../schemas/operator-signature.ts';
import {
  isDepositEvent,
  type MintAcknowledged,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
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
import { ChainNode } from '../../../services/runtime/clt-node.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../../services/runtime/kafka/writer.ts';
import { toEntries as toLedgerEntries } from '../../../services/treasury/ledger/ledger-writer.ts';
import { MintSigner } from '../../../services/treasury/minting/mint-signer.ts';
import type { MintingOptions } from '../../../services/treasury/minting/options.ts';
import type { TreasuryOptions } from '../../../services/treasury/treasury.ts';
import { accountAt } from '../../support/deposit-log.ts';
import { openDevnet, type TestDevnet } from '../../support/devnet.ts';
import { alice, signed } from '../../support/operators.ts';
import { never, silentLog } from '../../support/kafka.ts';
import { until } from '../../support/until.ts';
import { openWorld, startTreasury, type Working, type World } from './world.ts';
import { sharedCodec } from '../../support/codec.ts';

const CHAIN_ID = 7777;
type Placed = Pick<TreasuryEvent, 'sequence' | 'decided_at'>;

const APPEND_BYTES = 1024 * 1024;

export class MintWorld {
  readonly world: World;
  readonly devnet: TestDevnet;
  readonly node: ChainNode;
  readonly chain_topic: string;
  readonly authority: Key;
  readonly #codec: Codec;
  readonly #writer: KafkaWriter;
  #tail: Tail = EMPTY_TAIL;
  /** how the log tells a block; by default as the node does */
  told = (block: NodeBlock): NodeBlock => block;

  constructor(parts: {
    readonly world: World;
    readonly devnet: TestDevnet;
    readonly chain_topic: string;
    readonly codec: Codec;
  }) {
    this.world = parts.world;
    this.devnet = parts.devnet;
    this.chain_topic = parts.chain_topic;
    this.#codec = parts.codec;
    this.node = new ChainNode(parts.devnet.node_url, never);
    this.authority = parts.devnet.devnet.node.genesis.cast.mint_authority;
    this.#writer = new KafkaWriter(parts.world.kafka, { log: silentLog(), signal: never });
  }

  /** A treasury on this world; what concerns minting may be said otherwise. */
  start(change: Partial<MintingOptions> = {}, options: Partial<TreasuryOptions> = {}): Working {
    const signer = new MintSigner(this.authority.signing_key.privateKey, CHAIN_ID);
    const minting = {
      signer,
      node: this.node,
      chain_id: CHAIN_ID,
      allowed: () => undefined,
      every_ms: 50,
      again_ms: 100,
      late_ms: 600_000,
      clock_apart_max_ms: 3_600_000,
      chain_topic: this.chain_topic,
    };
    return startTreasury(this.world, {
      minting: { ...minting, ...change },
      codec: this.#codec,
      ...options,
    });
  }

  /** One block more, and what the node says of its chain in the log. */
  async mine(): Promise<void> {
    await this.devnet.block();
    await this.sync();
  }

  async mineUntil(holds: () => Promise<boolean> | boolean, what: string): Promise<void> {
    await until(async () => {
      if (await holds()) return true;
      await this.mine();
      return holds();
    }, what);
  }

  /** Brings the log to where the node is, as the ingester does. */
  async sync(): Promise<void> {
    const { head, finalized_height: finalizedHeight } = await this.node.chain();
    const events: ChainEvent[] = [];
    const put = (event: ChainEvent | undefined): void => {
      if (event === undefined) return;
      events.push(event);
      this.#tail = continued(this.#tail, event);
    };
    while (nextHeight(this.#tail) > 0) {
      const top = nextHeight(this.#tail) - 1;
      const theirs = await this.node.block(top);
      if (theirs?.hash.equals(linkAt(this.#tail, top)?.hash ?? Buffer.alloc(0)) === true) break;
      put(reverted(this.#tail));
    }
    while (nextHeight(this.#tail) <= head.height) {
      const { blocks } = await this.node.blocks(nextHeight(this.#tail), 500);
      for (const block of blocks) put(appended(this.#tail, this.told(block)));
    }
    put(finalized(this.#tail, finalizedHeight));
    for (const { entries } of toEntries(this.#codec, events, APPEND_BYTES))
      await this.#writer.append(this.chain_topic, 0, entries);
  }

  /** Appends an event of a person or of another writer to the ledger, for the offset it gets. */
  tell(event: TreasuryEvent): Promise<void> {
    return this.#place((place) => ({ ...event, ...place }));
  }

  /** Appends a decision, signed: by an operator if nobody else is named. */
  decide(decision: SignedDecision, by = alice): Promise<void> {
    return this.#place((place, id) => signed({ ...decision, ...place }, by, id));
  }

  /** Appends events of a stranger as one batch, for the offsets that they get. */
  async tellTogether(...events: readonly TreasuryEvent[]): Promise<void> {
    for (;;) {
      const { length: sequence } = await this.world.wholeLedger();
      const placed = events.map((event, at) =>
        Object.assign({}, event, { sequence: sequence + at, decided_at: Date.now() }),
      );
      const entries = toLedgerEntries(this.world.codec, placed);
      if ((await this.world.appendTogether(entries)) === BigInt(sequence)) return;
    }
  }

  /** Resolves when the ledger is pinned, and names its first mint authority. */
  async pinned(): Promise<void> {
    await until(
      async () => (await this.world.ledger()).some(({ type }) => type === 'LedgerPinned'),
      'the ledger to be pinned',
    );
  }

  /** Again until no other writer was faster. `made` gets the id of a pinned ledger. */
  async #place(
    made: (place: Placed, ledger_id: Buffer | undefined) => TreasuryEvent,
  ): Promise<void> {
    for (;;) {
      const ledger = await this.world.wholeLedger();
      const place = { sequence: ledger.length, decided_at: Date.now() };
      const pin = ledger.find((event) => event.type === 'LedgerPinned');
      const entries = toLedgerEntries(this.world.codec, [made(place, pin?.ledger_id)]);
      if ((await this.world.appendTogether(entries)) === BigInt(place.sequence)) return;
    }
  }

  /** The types of a deposit's events that have an effect. */
  async storyOf(id: string): Promise<readonly string[]> {
    return (await this.world.ledger()).flatMap((event) =>
      isDepositEvent(event) && event.deposit_id === id ? [event.type] : [],
    );
  }

  /** CLT base units of a depositor. */
  async balanceOf(account: number): Promise<bigint> {
    const { body } = await this.devnet.get(`/v1/accounts/${toHex(accountAt(account))}`);
    return BigInt(Object(body).balance);
  }

  /** Every Mint of the chain, by what it says it is for. */
  async mints(): Promise<
    readonly { readonly reference: string; readonly amount: bigint; readonly to: string }[]
  > {
    const { blocks } = await this.node.blocks(0, 500);
    return blocks.flatMap(({ transactions }) =>
      transactions.flatMap(({ function_call_type, arguments: given, amount, to }) =>
        function_call_type === 'Mint'
          ? [{ reference: given['reference'] ?? '', amount, to: toHex(to) }]
          : [],
      ),
    );
  }

  /** Mints in blocks, as an operator acknowledges them. */
  async minted(): Promise<
    readonly Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount' | 'block_height'>[]
  > {
    const { blocks } = await this.node.blocks(0, 500);
    return blocks.flatMap(({ height, transactions }) =>
      transactions.flatMap(({ function_call_type, hash, to, amount }) =>
        function_call_type === 'Mint' ? [{ tx_hash: hash, to, amount, block_height: height }] : [],
      ),
    );
  }

  /** Every mint is there once, for what was credited, and nothing else was minted. */
  async expectMinted(): Promise<void> {
    const ledger = await this.world.ledger();
    const deposits = new Map(
      ledger.flatMap((event) =>
        event.type === 'DepositConfirmed' ? [[event.deposit_id, event] as const] : [],
      ),
    );
    const paid = ledger.flatMap((event) =>
      event.type === 'MintCredited' ? [deposits.get(event.deposit_id)] : [],
    );
    const expected = paid.map((deposit) => ({
      reference: `0x${deposit?.deposit_id.replaceAll('-', '')}${'0'.repeat(32)}`,
      amount: deposit?.credit,
      to: toHex(deposit?.clt_address ?? Buffer.alloc(0)),
    }));
    expect((await this.mints()).toSorted(byReference)).toEqual(expected.toSorted(byReference));
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.world.close();
  }
}

function byReference(
  one: { readonly reference: string },
  other: { readonly reference: string },
): number {
  return one.reference < other.reference ? -1 : 1;
}

/** Mines until so many deposits are credited. */
export async function credited(world: MintWorld, working: Working, count: number): Promise<void> {
  await world.mineUntil(
    async () => (await working.counted('treasury_mints_total', 'MintCredited')) === count,
    `${count} credited deposits`,
  );
}

/** For one test. */
export async function ownMintWorld(stack: Addresses): Promise<MintWorld> {
  const world = await openWorld(stack);
  const chain = { ...CHAIN_BLOCKS, name: `test.${randomUUID()}` };
  await ensureTopics(world.kafka, [chain]);
  const codec = await sharedCodec(stack.registry_url, [
    DEPOSIT_ADDRESSES,
    TRON_TRANSFERS,
    TREASURY_LEDGER,
    CHAIN_BLOCKS,
  ]);
  const devnet = await openDevnet({ APP_FINALITY_DEPTH: '2' });
  const made = new MintWorld({ world, devnet, chain_topic: chain.name, codec });
  onTestFinished(() => made.close());
  await made.sync();
  return made;
}

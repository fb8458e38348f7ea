/**
 * The three topics of deposits under their own names, their records, and treasuries that work on
 * them.
 */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import type { Addresses } from '../../../infra/services/services.ts';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import {
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../../schemas/topics.ts';
import {
  isTreasuryEvent,
  type DepositConfirmed,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import {
  transferEventId,
  type TransferEvent,
  type TransferObserved,
} from '../../../schemas/tron.transfers/events.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../../services/runtime/kafka/topics.ts';
import type { LogEntry } from '../../../services/runtime/kafka/record.ts';
import { KafkaWriter } from '../../../services/runtime/kafka/writer.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { toEntries } from '../../../services/treasury/ledger/ledger-writer.ts';
import { Treasury, type TreasuryOptions } from '../../../services/treasury/treasury.ts';
import { accountAt, BEGIN, CUSTODY, depositKey, USDT_CONTRACT } from '../../support/deposit-log.ts';
import { never, readAll, silentLog, testKafka, type TestKafka } from '../../support/kafka.ts';
import { storedAs } from '../../support/plain-chain.ts';
import { Random } from '../../support/random.ts';
import { sharedCodec } from '../../support/codec.ts';

const RECORDS_OF_AN_APPEND = 1_000;

export interface Topics {
  readonly addresses: Topic;
  readonly transfers: Topic;
  readonly ledger: Topic;
}

const DECLARED: Topics = {
  addresses: DEPOSIT_ADDRESSES,
  transfers: TRON_TRANSFERS,
  ledger: TREASURY_LEDGER,
};

export class World {
  readonly stack: Addresses;
  readonly kafka: TestKafka;
  readonly codec: Codec;
  readonly topics: Topics;
  readonly #writer: KafkaWriter;

  constructor(stack: Addresses, kafka: TestKafka, codec: Codec, topics: Topics) {
    this.stack = stack;
    this.kafka = kafka;
    this.codec = codec;
    this.topics = topics;
    this.#writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

  async tellAddresses(events: readonly DepositAddressEvent[]): Promise<void> {
    const entries = events.map((event) =>
      this.#entry(event, depositAddressEventKey(event), depositAddressEventId(event)),
    );
    await this.appendRaw(this.topics.addresses, 0, entries);
  }

  /** Pins the scheme and gives the first `accounts` accounts their addresses. */
  async openAddresses(accounts: number): Promise<void> {
    await this.tellAddresses([schemePinned(depositKey().fingerprint), ...requests(0, accounts)]);
  }

  /** Appends each to the partition of its address, in order. */
  async observe(...transfers: readonly TransferObserved[]): Promise<void> {
    for (const [partition, own] of Map.groupBy(transfers, ({ to }) => transferPartition(to)))
      await this.tellTransfers(partition, own);
  }

  async tellTransfers(partition: number, events: readonly TransferEvent[]): Promise<void> {
    const entries = events.map((event) =>
      this.#entry(
        event,
        event.type === 'TransferObserved' ? toTronAddress(event.to) : 'checks',
        transferEventId(event),
      ),
    );
    await this.appendRaw(this.topics.transfers, partition, entries);
  }

  /** Appends to the ledger as they are. */
  async write(...events: readonly TreasuryEvent[]): Promise<void> {
    await this.appendRaw(this.topics.ledger, 0, toEntries(this.codec, events));
  }

  async appendRaw(topic: Topic, partition: number, entries: readonly LogEntry[]): Promise<void> {
    for (let at = 0; at < entries.length; at += RECORDS_OF_AN_APPEND)
      await this.#writer.append(
        topic.name,
        partition,
        entries.slice(at, at + RECORDS_OF_AN_APPEND),
      );
  }

  /** Appends to the ledger in one go; gives the offset of the first. */
  appendTogether(entries: readonly LogEntry[]): Promise<bigint> {
    return this.#writer.append(this.topics.ledger.name, 0, entries);
  }

  /** Everything that stands in the ledger, in order. */
  async wholeLedger(): Promise<readonly TreasuryEvent[]> {
    const records = await readAll(this.kafka, this.topics.ledger.name);
    await this.codec.learn(records.map(({ value }) => value));
    return records.map(({ value }) => {
      const event = this.codec.decode(value);
      if (!isTreasuryEvent(event)) throw new Error(`${event.type} stands in the ledger`);
      return storedAs(event, value);
    });
  }

  /** The events with an effect: those at the offset that they were written for. */
  async ledger(): Promise<readonly TreasuryEvent[]> {
    return (await this.wholeLedger()).filter(({ sequence }, offset) => sequence === offset);
  }

  async deposits(): Promise<readonly DepositConfirmed[]> {
    return (await this.ledger()).filter((event) => event.type === 'DepositConfirmed');
  }

  #entry(event: { readonly type: string }, key: string, id: string): LogEntry {
    return {
      key,
      value: this.codec.encode(event),
      headers: { event_id: id, event_type: event.type, trace_id: randomUUID() },
      timestamp: BEGIN,
    };
  }
}

/**
 * On topics of its own, unless `declared`: then those that the services themselves use, after this
 * prefix.
 */
export async function openWorld(
  stack: Addresses,
  declared = false,
  kafka_prefix = '',
): Promise<World> {
  const kafka = testKafka(stack, undefined, { kafka_prefix });
  const own = (topic: Topic): Topic =>
    declared ? topic : { ...topic, name: `test.${randomUUID()}` };
  const topics = {
    addresses: own(DECLARED.addresses),
    transfers: own(DECLARED.transfers),
    ledger: own(DECLARED.ledger),
  };
  await ensureTopics(kafka, Object.values(topics));
  return new World(
    stack,
    kafka,
    await sharedCodec(stack.registry_url, Object.values(DECLARED)),
    topics,
  );
}

/** A world for one test. */
export async function ownWorld(stack: Addresses): Promise<World> {
  const world = await openWorld(stack);
  onTestFinished(() => world.close());
  return world;
}

export function schemePinned(fingerprint: Buffer): DepositAddressEvent {
  const none = { extended_public_key: '', pinned_at: BEGIN };
  return { type: 'SchemePinned', scheme: 'hd', fingerprint, ...none };
}

/** The requests of these accounts, for the addresses of the same indexes. */
export function requests(from: number, to: number): readonly DepositAddressEvent[] {
  return Array.from({ length: to - from }, (_, at) => ({
    type: 'AddressRequested',
    clt_address: accountAt(from + at),
    requested_at: BEGIN,
    derivation_index: from + at,
    deposit_address: depositKey().addressAt(from + at),
  }));
}

const chance = new Random(4711);

/**
 * A transfer of this many micro-USDT to the address at this index; by default in its own
 * transaction.
 */
export function transferTo(
  index: number,
  value: bigint,
  change: Partial<TransferObserved> = {},
): TransferObserved {
  return {
    type: 'TransferObserved',
    tx_id: chance.bytes(32),
    log_index: 0,
    block_number: 70_000_000,
    block_timestamp: BEGIN - 60_000,
    contract: USDT_CONTRACT,
    from: Buffer.alloc(20, 0xf0),
    to: depositKey().addressAt(index),
    value,
    address_index: index,
    ...change,
  };
}

export interface Working {
  readonly treasury: Treasury;
  /** Resolves when it has nothing to complain of. */
  ready(): Promise<void>;
  /** the sum of a figure, over all labels unless one value is named */
  counted(metric: string, value?: string): Promise<number>;
  stop(): Promise<void>;
}

/** A treasury in this process, by default on the testnet's limits; it is stopped after the test. */
export function startTreasury(
  { kafka, codec, topics }: World,
  change: Partial<TreasuryOptions> = {},
): Working {
  const stop = new AbortController();
  const metrics = new Metrics('test');
  const treasury = new Treasury({
    kafka,
    codec,
    metrics,
    log: silentLog(),
    signal: stop.signal,
    network: 'testnet',
    limits: NETWORK_LIMITS.testnet,
    usdt_contract: USDT_CONTRACT,
    deposit_key: depositKey(),
    custody_addresses: [CUSTODY],
    topics: {
      addresses: topics.addresses.name,
      transfers: topics.transfers.name,
      ledger: topics.ledger.name,
    },
    ...change,
  });
  const ended = treasury.run();
  ended.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await ended;
  };
  onTestFinished(end);
  return {
    treasury,
    ready: () => expect.poll(() => treasury.problem?.message, { interval: 20 }).toBe(undefined),
    async counted(metric, value) {
      const { values } = (await metrics.registry.getSingleMetric(metric)?.get()) ?? { values: [] };
      const wanted = values.filter(
        ({ labels }) => value === undefined || Object.values<unknown>(labels).includes(value),
      );
      return wanted.reduce((sum, { value: count }) => sum + count, 0);
    },
    stop: end,
  };
}

export async function expectHalted({ treasury }: Working, why: RegExp): Promise<void> {
  await expect.poll(() => treasury.problem?.message, { interval: 20 }).toMatch(/^halted: /);
  expect(treasury.problem?.message).toMatch(why);
  expect(treasury.problem?.message).toContain('What to do: ');
}

/** Waits until so many deposits count, and gives them. */
export async function expectDeposits(
  world: World,
  { ledger_of: ledgerOf, deposits }: { readonly ledger_of: Working; readonly deposits: number },
): Promise<readonly DepositConfirmed[]> {
  await expect
    .poll(() => ledgerOf.counted('treasury_deposits_confirmed_total'), { interval: 20 })
    .toBe(deposits);
  return world.deposits();
}

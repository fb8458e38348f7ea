/**
 * A whole system in this process, without servers: logs in memory, the chain, TRON, the treasury,
 * and those who write honestly: gateway, watcher, ingester and operators.
 */
import { Wallet } from 'ethers';
import {
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import type { HumanDecision } from '../../../schemas/operator-signature.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TREASURY_SNAPSHOTS,
  TRON_TRANSFERS,
} from '../../../schemas/topics.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { written } from '../../../services/deposit-gateway/address-log.ts';
import { readSchemas } from '../../../services/runtime/kafka/avro-schemas.ts';
import { codecOf, type Codec } from '../../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../../services/runtime/kafka/schema-registry.ts';
import { AddressCheck } from '../../../services/tron-watcher/address-check.ts';
import { Retries } from '../../../services/tron-watcher/retries.ts';
import { toEntries } from '../../../services/treasury/ledger/ledger-writer.ts';
import { authorityOf } from '../../../services/treasury/minting/mint-signer.ts';
import { accountAt, BEGIN, depositKey } from '../../support/deposit-log.ts';
import { silentLog } from '../../support/kafka.ts';
import { MemoryKafka } from '../../support/memory-kafka.ts';
import { addressOf, alice, bob } from '../../support/operators.ts';
import type { Random } from '../../support/random.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { Ingester, MINT_KEY, SimulatedNode } from './clt.ts';
import { Logs } from './logs.ts';
import { TreasuryProcess, type Surroundings } from './processes.ts';
import { CUSTODY, SimulatedTron, USDT_CONTRACT } from './tron.ts';
import { signatureOf } from './version.ts';

const TOPICS = [CHAIN_BLOCKS, DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER, RESERVE_RUNS];
/** A process that stops waits for nothing but its own work. */
const STOPPED_MS = 60_000;
const RECEIPTS_MAX = 100;

/** Three operators; the thief has the key of bob. */
const carol = new Wallet(`0x${'ca'.repeat(32)}`);
const HONEST = [alice, carol] as const;
export const STOLEN = bob;
export const OPERATORS: readonly Buffer[] = [alice, bob, carol].map(addressOf);

export const SCHEMAS = await readSchemas(TOPICS);
/** Never asked: every id is known. */
const registry = new SchemaRegistry({ registry_url: 'http://127.0.0.1:1' });

function openCodec(): Codec {
  return codecOf(
    registry,
    SCHEMAS,
    SCHEMAS.map((_, at) => at + 1),
  );
}

/** An account that has asked for its address. */
export interface Depositor {
  readonly account: Buffer;
  readonly address: Buffer;
}

/** When the thief acts: at the next append to the ledger by the treasury, or its next broadcast. */
export type Moment = 'before_append' | 'after_append' | 'before_submit';

export class World {
  readonly time = new VirtualTime(BEGIN);
  readonly codec = openCodec();
  readonly kafka: MemoryKafka;
  readonly node: SimulatedNode;
  readonly tron: SimulatedTron;
  /** TRON as the watcher's provider shows it, and as the treasury's does: the truth by default */
  shown_to_watcher: SimulatedTron;
  shown_to_treasury: SimulatedTron;
  readonly logs: Logs;
  readonly two_above: bigint;
  /** whether the treasury asks a second node, which tells the truth */
  hasSecondNode = false;
  /** in the order in which they asked */
  readonly depositors: Depositor[] = [];
  treasury: TreasuryProcess | undefined;
  /** what was taken from us and not paid back, micro-USDT; and when anything was */
  robbed = 0n;
  robbed_at = 0;
  /** errors that ended a treasury by itself */
  readonly bugs: unknown[] = [];
  readonly #ambushes = new Map<Moment, () => void>();
  readonly #ingester: Ingester;
  readonly #check: AddressCheck;
  #asked = 0;

  constructor(two_above: bigint) {
    this.two_above = two_above;
    const sign = (): void => this.time.sign();
    this.kafka = new MemoryKafka([...TOPICS, TREASURY_SNAPSHOTS], {
      onRequest: sign,
      onAppend: (topic, when) => {
        if (topic === TREASURY_LEDGER.name) this.#spring(`${when}_append`);
      },
    });
    this.node = new SimulatedNode((what) => {
      sign();
      if (what === 'submit') this.#spring('before_submit');
    });
    this.tron = new SimulatedTron(() => this.time.now, sign);
    this.shown_to_watcher = this.tron;
    this.shown_to_treasury = this.tron;
    this.logs = new Logs(this.kafka, this.codec, authorityOf(MINT_KEY));
    this.#ingester = new Ingester(this.kafka, this.codec, this.node);
    this.#check = this.#openCheck();
  }

  /** The first blocks, and the key of the deposit addresses. */
  async open(): Promise<void> {
    for (let blocks = 0; blocks < 3; blocks++) this.node.mine(this.time.now);
    this.#ingester.sync();
    const { fingerprint } = depositKey();
    const pinned_at = this.time.now;
    this.#tellAddresses([
      { type: 'SchemePinned', scheme: 'hd', extended_public_key: '', pinned_at, fingerprint },
    ]);
    await this.time.settle();
  }

  async close(): Promise<void> {
    try {
      await this.stop();
    } finally {
      this.time.restore();
    }
  }

  start(): void {
    const { kafka, codec, node, two_above } = this;
    const surroundings: Surroundings = {
      kafka,
      codec,
      node,
      second_node: this.hasSecondNode ? node.honest : undefined,
      tron: this.shown_to_treasury,
      operators: OPERATORS,
      two_above,
    };
    this.treasury ??= new TreasuryProcess(surroundings);
  }

  async stop(): Promise<void> {
    const { treasury } = this;
    this.treasury = undefined;
    if (treasury === undefined) return;
    await this.time.finish(treasury.stop(), 'the treasury', STOPPED_MS);
    if (treasury.bug !== undefined) this.bugs.push(treasury.bug.error);
  }

  /** Blocks with what waits for one, and their records. */
  mine(blocks: number): void {
    for (let mined = 0; mined < blocks; mined++) this.node.mine(this.time.now);
    this.#ingester.sync();
  }

  /** The number of blocks replaced. */
  reorganise(depth: number, random: Random): number {
    const replaced = this.node.reorganise(depth, this.time.now, () => random.below(1_000) / 1_000);
    this.#ingester.sync();
    return replaced;
  }

  /** One more account asks the gateway for its address; undefined: the gateway refuses. */
  ask(): Depositor | undefined {
    const account = accountAt(this.#asked++);
    const requested_at = this.time.now;
    this.logs.read();
    const { book, broken } = this.logs;
    if (broken !== undefined || book.scheme?.fingerprint.equals(depositKey().fingerprint) !== true)
      return undefined;
    this.#tellAddresses([{ type: 'AddressRequested', clt_address: account, requested_at }]);
    const address = book.addressOf(account);
    // the gateway shows no address that its key does not derive
    if (address === undefined || !book.isDerived(depositKey(), account, address)) return undefined;
    const depositor = { account, address };
    this.depositors.push(depositor);
    return depositor;
  }

  /** The watcher looks at every address once. */
  async watch(): Promise<void> {
    this.logs.read();
    const { book } = this.logs;
    for (let index = 0; index < book.size; index++) {
      const owner = book.ownerAt(index);
      const address = owner && book.addressOf(owner);
      if (address === undefined) continue;
      const entry = {
        address,
        partition: transferPartition(address),
        derivation_index: index,
        hot: true,
        checked_at: 0,
        checked_until: 0,
        turn_at: 0,
      };
      const range = { from: 0, until: this.time.now };
      await this.time.finish(this.#check.run(entry, range), 'the watcher', STOPPED_MS);
      this.logs.read();
    }
  }

  /** An honest decision, signed by one of the operators; false: it is refused, or has no effect. */
  decide(
    decision: (
      ledger: Ledger,
      operator: Buffer,
    ) => { readonly events: readonly HumanDecision[] } | { readonly refused: string },
    by: 0 | 1 = 0,
  ): boolean {
    this.logs.read();
    const { ledger, broken } = this.logs;
    const wallet = HONEST[by];
    const decided = broken === undefined ? decision(ledger, addressOf(wallet)) : { events: [] };
    if ('refused' in decided || decided.events.length === 0) return false;
    const signedBy = (event: HumanDecision): HumanDecision => {
      const signature = signatureOf(event, wallet, ledger);
      return signature === undefined ? event : { ...event, signature };
    };
    const events = decided.events.map(signedBy);
    const entries = toEntries(this.codec, events, ledger.head, 'ops');
    this.kafka.append(TREASURY_LEDGER.name, 0, entries);
    this.logs.read();
    return true;
  }

  /** Money leaves our addresses without a reason, or comes back. */
  rob(from: Buffer, to: Buffer, value: bigint, random: Random): void {
    this.tron.pay(from, to, value, random);
    const isOurs = (address: Buffer): boolean =>
      address.equals(CUSTODY) || this.depositors.some((each) => each.address.equals(address));
    if (isOurs(from)) this.robbed += value;
    if (isOurs(to)) this.robbed -= value;
    this.robbed_at = this.time.now;
  }

  /** Something happens at that moment, once. */
  ambush(moment: Moment, act: () => void): void {
    this.#ambushes.set(moment, act);
  }

  #spring(moment: Moment): void {
    const act = this.#ambushes.get(moment);
    this.#ambushes.delete(moment);
    act?.();
  }

  #tellAddresses(events: readonly DepositAddressEvent[]): void {
    this.logs.read();
    const { book } = this.logs;
    const entries = written(events, book, book.end, depositKey()).map((event, at) => ({
      key: depositAddressEventKey(event),
      value: this.codec.encode(at === 0 ? { ...event, previous: book.head } : event),
      headers: { event_type: event.type },
      timestamp: this.time.now,
    }));
    if (entries.length > 0) this.kafka.append(DEPOSIT_ADDRESSES.name, 0, entries);
    this.logs.read();
  }

  #openCheck(): AddressCheck {
    return new AddressCheck({
      provider: {
        list: (request) => this.shown_to_watcher.provider.list(request),
        receipt: (txId) => this.shown_to_watcher.provider.receipt(txId),
      },
      model: {
        seen: (address, txIds) => Promise.resolve(this.logs.seenTo(address, txIds)),
        watched: (addresses) => Promise.resolve(this.logs.watchedAmong(addresses)),
      },
      transfers: {
        append: async (partition, events) => {
          const entries = events.map((event) => ({
            key: event.type === 'TransferObserved' ? toTronAddress(event.to) : 'checked',
            value: this.codec.encode(event),
            headers: { event_type: event.type },
            timestamp: this.time.now,
          }));
          this.kafka.append(TRON_TRANSFERS.name, partition, entries);
          this.logs.read();
        },
      },
      usdt_contract: USDT_CONTRACT,
      now: () => this.time.now,
      receipts_max: RECEIPTS_MAX,
      log: silentLog(),
      retries: new Retries({ retry_ms_min: 0, retry_ms_max: 0, now: () => this.time.now }),
    });
  }
}

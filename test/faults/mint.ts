/**
 * The fault run of minting: USDT arrives on the devnet's TRON, two treasuries decide and mint, and
 * are killed and frozen at random moments. The node lies, lags, cuts connections and reorganises,
 * and a person uses nonces of the same key. Somebody writes forged records to the ledger, which
 * mint nothing, and of which the audit has to find each. At the end all logs are audited from
 * offset 0, and the balances at the node are compared with the payments.
 */
import { toHex } from '../../schemas/address.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER } from '../../schemas/topics.ts';
import type { TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { AUDITED_TOPICS, auditLogs, type AuditResult } from '../../services/ops/audit/audit.ts';
import { openCodec, type Codec } from '../../services/runtime/kafka/codec.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { toEntries } from '../../services/treasury/ledger/ledger-writer.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { accountAt, depositKey, USDT_CONTRACT, XPUB } from '../support/deposit-log.ts';
import { confirmedEvent } from '../support/deposit-events.ts';
import { BY, mallory, operatorsSet } from '../support/operators.ts';
import { never, silentLog, testKafka } from '../support/kafka.ts';
import { Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import {
  countsLine,
  recoveryLine,
  type FaultReport,
  type FaultRun,
  type Given,
} from './fault-run.ts';
import { figureOf, Processes } from './processes.ts';

export interface MintRunOptions {
  readonly deposits: number;
  readonly kills: number;
}

export interface MintRunReport extends FaultReport {
  readonly struck: Readonly<Record<string, number>>;
  readonly audited: AuditResult;
}

const ACCOUNTS = 24;
const PATIENCE_MS = 180_000;
const USD = 1_000_000n;
const TREASURIES = ['treasury', 'treasury/2'];
const SETTINGS = {
  devnet: {
    APP_TRAFFIC_PER_SECOND: '0',
    APP_BLOCK_INTERVAL_MS: '150',
    APP_FINALITY_DEPTH: '4',
    APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '200',
    APP_DEVNET_TRON_SOLIDIFY_MS: '200',
  },
  'tron-watcher': {
    APP_KAFKA_SESSION_MS: '2000',
    APP_TRON_REQUESTS_PER_SECOND: '500',
    APP_PASS_EVERY_MS: '200',
    APP_COLD_EVERY_MS: '500',
  },
  treasury: {
    APP_ROLLING_CAP: String(10n ** 15n),
    APP_MINT_EVERY_MS: '100',
    APP_MINT_AGAIN_MS: '500',
    APP_RECONCILE_EVERY_MS: '2000',
    APP_RECONCILE_REQUESTS_PER_SECOND: '500',
    APP_RECONCILE_REQUESTS_PER_DAY: '0',
  },
};

/** Failures of the node: mode, the most requests that it affects, and its time in ms. */
const FAILURES = [
  ['accept_then_timeout', 3, 200],
  ['already_known', 6, 0],
  ['nonce_too_low', 6, 0],
  ['unknown_transaction', 6, 0],
  ['lag', 10, 600],
  ['status_503', 5, 0],
  ['reset', 5, 0],
  ['delay', 5, 100],
  ['human_takes_nonce', 2, 0],
] as const;

class MintRun {
  readonly stack: Stack;
  readonly processes: Processes;
  readonly struck: Record<string, number> = {};
  readonly failures: Record<string, number> = {};
  readonly recoveries: number[] = [];
  readonly paid = new Map<number, bigint[]>();
  /** offsets of forged records in the ledger */
  readonly planted: bigint[] = [];
  reorganisations = 0;
  #made = 0;
  readonly #options: MintRunOptions;
  readonly #random: Random;
  readonly #progress: (line: string) => void;

  constructor(stack: Stack, options: MintRunOptions, { seed, progress }: Given) {
    this.stack = stack;
    this.#options = options;
    this.#random = new Random(seed);
    this.#progress = progress;
    this.processes = new Processes(stack, SETTINGS);
  }

  async start(codec: Codec): Promise<void> {
    await (await this.processes.start('devnet')).ready();
    for (const slot of ['chain-ingester', 'projector-watch', ...TREASURIES, 'tron-watcher'])
      await this.processes.start(slot);
    const writer = new KafkaWriter(testKafka(this.stack.addresses), {
      log: silentLog(),
      signal: never,
    });
    const now = Date.now();
    const events: DepositAddressEvent[] = [
      { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: now },
      ...Array.from({ length: ACCOUNTS }, (_, at): DepositAddressEvent => ({
        type: 'AddressRequested',
        clt_address: accountAt(at),
        requested_at: now,
      })),
    ];
    const entries = events.map((event) => ({
      key: depositAddressEventKey(event),
      value: codec.encode(event),
      headers: { event_id: depositAddressEventId(event), event_type: event.type },
      timestamp: now,
    }));
    await writer.append(DEPOSIT_ADDRESSES.name, 0, entries);
    await writer.close();
    for (const slot of TREASURIES) await this.processes.at(slot).ready(PATIENCE_MS);
  }

  /** Payments, faults, blows, in turns; after each blow something more has to be credited. */
  async rounds(codec: Codec): Promise<void> {
    const { deposits, kills } = this.#options;
    for (let kill = 1; kill <= kills; kill++) {
      const due = Math.floor((deposits * kill) / kills) - this.#made;
      await this.#pay(due);
      await this.#forge(codec, kill === kills);
      await this.#fail();
      if (kill % 3 === 0) await this.#reorganise();
      await this.#moment();
      const started = performance.now();
      const what = await this.#strike();
      const before = await this.#credited();
      if (this.#made > before)
        await until(
          async () => (await this.#credited()) > before || (await this.#isAllCredited()),
          `a credit after a ${what}`,
          PATIENCE_MS,
        );
      await this.processes.thaw();
      this.recoveries.push(Math.round(performance.now() - started));
      this.#progress(
        `kill ${kill} of ${kills}: ${what}; ${this.#made} paid, ${before} credited before, again after ${this.recoveries.at(-1)} ms`,
      );
    }
  }

  /** Lets everything come to rest: nothing fails any more, and all is credited. */
  async rest(): Promise<void> {
    await this.processes.thaw();
    await this.#admin('/faults', undefined, 'DELETE');
    for (const slot of TREASURIES)
      await until(
        () => this.#isAllCredited(slot),
        `everything that was paid to be credited, as ${slot} sees it`,
        PATIENCE_MS,
      );
  }

  /** Compares each account's balance at the node with its deposits. */
  async unlikeBalances(): Promise<readonly string[]> {
    const { first_fee, later_fee, minimum } = NETWORK_LIMITS.testnet;
    const unlike: string[] = [];
    for (const [account, amounts] of this.paid) {
      const response = await fetch(
        `${this.stack.addresses.node_url}/v1/accounts/${toHex(accountAt(account))}`,
      );
      const balance = BigInt(Object(await response.json()).balance);
      // the network decides which payment of an address is first: all are above the minimum
      const sum = amounts.reduce(
        (total, amount) => total + amount - later_fee,
        later_fee - first_fee,
      );
      if (amounts.some((amount) => amount - first_fee < minimum))
        throw new Error('the run pays less than is minted');
      if (balance !== sum)
        unlike.push(`account ${account} has ${balance}, and ${sum} was credited to it`);
    }
    return unlike;
  }

  async #pay(count: number): Promise<void> {
    const transfers = Array.from({ length: count }, () => {
      const account = this.#random.below(ACCOUNTS);
      const value = 3n * USD + BigInt(this.#random.below(20_000_000));
      this.paid.set(account, [...(this.paid.get(account) ?? []), value]);
      return { to: toTronAddress(depositKey().addressAt(account)), value: String(value) };
    });
    if (count > 0) await this.#admin('/tron/block', { transfers });
    this.#made += count;
  }

  /** Decisions that nobody signed, and at last a deposit that nobody paid. */
  async #forge(codec: Codec, isLast: boolean): Promise<void> {
    const by = { ...BY, decided_at: Date.now() };
    const to = this.#random.bytes(20);
    const forged: readonly TreasuryEvent[] = [
      { ...operatorsSet(mallory), version: 2 },
      { type: 'AuthoritySet', ...by, version: 2, authority: to },
      {
        type: 'MintAcknowledged',
        ...by,
        tx_hash: this.#random.bytes(32),
        to,
        amount: 5n,
        block_height: 1,
      },
      { type: 'SurplusBooked', ...by, amount: USD },
    ];
    const writer = new KafkaWriter(testKafka(this.stack.addresses), {
      log: silentLog(),
      signal: never,
    });
    for (const event of isLast ? [...forged, this.#unpaid()] : forged)
      this.planted.push(await this.#plant(writer, codec, event));
    await writer.close();
  }

  /** A deposit to an address of nobody, small enough for the fees in custody to cover it. */
  #unpaid(): TreasuryEvent {
    const deposit_address = this.#random.bytes(20);
    const terms = { gross: 3n * USD, fee: 2n * USD, credit: USD };
    const transfer_partition = transferPartition(deposit_address);
    const tx_id = this.#random.bytes(32);
    return confirmedEvent({
      tx_id,
      deposit_address,
      transfer_partition,
      ...terms,
      decided_at: Date.now(),
    });
  }

  /** For the offset that it gets: again until no treasury was faster. */
  async #plant(writer: KafkaWriter, codec: Codec, event: TreasuryEvent): Promise<bigint> {
    for (;;) {
      const { high } = await readLogEnds(testKafka(this.stack.addresses), TREASURY_LEDGER.name, 0);
      const entries = toEntries(
        codec,
        [{ ...event, sequence: Number(high) }],
        undefined,
        'mallory',
      );
      if ((await writer.append(TREASURY_LEDGER.name, 0, entries)) === high) return high;
    }
  }

  async #fail(): Promise<void> {
    const [mode, most, delay_ms] = this.#random.pick(FAILURES);
    await this.#admin('/faults', {
      target: 'node',
      mode,
      times: 1 + this.#random.below(most),
      delay_ms,
    });
    this.failures[mode] = (this.failures[mode] ?? 0) + 1;
  }

  async #reorganise(): Promise<void> {
    const response = await this.#ask('/clt/reorg', { depth: 1 + this.#random.below(3) });
    if (response.ok) this.reorganisations++;
  }

  /** Waits for a moment that nobody chose: so many questions. */
  async #moment(): Promise<void> {
    for (let asked = this.#random.below(60); asked > 0; asked--)
      await this.#ask('/faults', undefined, 'GET');
  }

  async #strike(): Promise<string> {
    const slot = this.#random.pick(TREASURIES);
    const isKill = this.#random.chance(0.6);
    if (isKill) await this.processes.kill(slot);
    else await this.processes.freeze(slot);
    const what = isKill ? 'SIGKILL' : 'SIGSTOP';
    this.struck[what] = (this.struck[what] ?? 0) + 1;
    return what;
  }

  /** As the one says who answers. */
  async #credited(): Promise<number> {
    const told = await Promise.all(
      TREASURIES.map((slot) => this.#figure(slot, 'treasury_mints_total', 'MintCredited')),
    );
    return Math.max(0, ...told);
  }

  async #isAllCredited(slot?: string): Promise<boolean> {
    if (slot === undefined) return (await this.#credited()) === this.#made;
    return (
      (await this.#figure(slot, 'treasury_mints_total', 'MintCredited')) === this.#made &&
      (await figureOf(this.processes.at(slot), 'treasury_mints_live')) === 0
    );
  }

  /** 0 while it does not answer. */
  async #figure(slot: string, metric: string, label: string): Promise<number> {
    try {
      const response = await fetch(`${this.processes.at(slot).url}/metrics`, {
        signal: AbortSignal.timeout(500),
      });
      const line = (await response.text())
        .split('\n')
        .find((each) => each.startsWith(`${metric}{`) && each.includes(`"${label}"`));
      return Number(line?.slice(line.lastIndexOf(' ') + 1) ?? 0);
    } catch {
      // killed, frozen, or just starting
      return 0;
    }
  }

  async #admin(path: string, body: unknown, method = 'POST'): Promise<void> {
    const response = await this.#ask(path, body, method);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  }

  #ask(path: string, body: unknown, method = 'POST'): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`http://127.0.0.1:${this.stack.ports.devnet}/admin${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

export async function mintFaultRun(options: MintRunOptions, given: Given): Promise<MintRunReport> {
  const stack = await startStack();
  const run = new MintRun(stack, options, given);
  try {
    const kafka = testKafka(stack.addresses);
    await ensureTopics(kafka, AUDITED_TOPICS);
    const codec = await openCodec(stack.addresses.registry_url, AUDITED_TOPICS);
    const { processes } = run;
    await processes.whileAllRun(run.start(codec));
    await processes.whileAllRun(run.rounds(codec));
    await processes.whileAllRun(run.rest());
    const audited = await auditLogs({
      kafka,
      codec,
      reader: undefined,
      usdt_contract: USDT_CONTRACT,
    });
    const unlike = await run.unlikeBalances();
    const { findings, mints, deposits, without_effect, sums } = audited;
    // requested, credited and dead, and each that is requested is one of the two
    const told = await figureOf(processes.at('treasury'), 'treasury_mints_total');
    const expected = deposits === options.deposits + 1 && mints === options.deposits;
    const found = new Set(
      findings.violations.flatMap(({ topic, offset }) =>
        topic === TREASURY_LEDGER.name ? [offset] : [],
      ),
    );
    const planted = new Set(run.planted);
    return {
      struck: run.struck,
      audited,
      lines: [
        `treasuries struck: ${countsLine(run.struck)}; the node failed: ${countsLine(run.failures)}; reorganisations: ${run.reorganisations}`,
        `${deposits} deposits, ${mints} Mints; ${told / 2 - mints} mints given up because somebody else had their nonce; ${without_effect} records without effect`,
        `arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held}, the same at every offset`,
        `checked: ${countsLine(findings.checked)}`,
        recoveryLine(run.recoveries),
      ],
      violations: [
        ...run.planted
          .filter((offset) => !found.has(offset))
          .map((offset) => `the audit does not find the forged record at offset ${offset}`),
        ...findings.violations
          .filter(({ topic, offset }) => topic !== TREASURY_LEDGER.name || !planted.has(offset))
          .map(
            ({ invariant, topic, partition, offset, what }) =>
              `${invariant} at ${topic}/${partition}@${offset}: ${what}`,
          ),
        ...unlike,
        ...(expected
          ? []
          : [`${options.deposits} were paid, ${deposits} are deposits, ${mints} are minted`]),
      ],
    };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${run.processes.lastLines()}`, { cause });
  } finally {
    await stack.stop();
  }
}

export const mint: FaultRun<keyof MintRunOptions> = {
  about:
    'two treasuries mint what is paid, killed and frozen at random, while the node lies, lags and reorganises and a person\ntakes nonces; then audits every log from its beginning',
  options: {
    deposits: { about: 'how many deposits', default: 1_000 },
    kills: { about: 'how many blows', default: 60 },
  },
  run: mintFaultRun,
};

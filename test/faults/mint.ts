/**
 * The fault run of minting: USDT arrives on the devnet's TRON, two treasuries decide and mint, and
 * are killed and frozen at random moments. Its parts:
 *
 * 1. Under load: the node lies, lags, cuts connections and reorganises, a person uses nonces of the
 *    same key, and a stranger writes a record of every kind (`forgeries.ts`).
 * 2. A foreign Mint halts minting, until an operator acknowledges it; money is missing from custody
 *    meanwhile, which keeps the gate closed. A forged run that matches does not open it.
 * 3. The second node lies: nothing is minted. Meanwhile an operator rotates the authority; with its
 *    key and a second node that tells the truth minting goes on.
 * 4. Optional: records that halt every reader.
 *
 * Then `ops audit` has to find each forged record, by its invariant and at its offset, and nothing
 * else, and the balances at the node are compared with the payments.
 */
import { Wallet } from 'ethers';
import { defaultSettings } from '../../infra/services/settings.ts';
import { toHex } from '../../schemas/address.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import {
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { AUDITED_TOPICS } from '../../services/ops/audit/audit.ts';
import { LedgerLog } from '../../services/ops/deposit/ledger-log.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { accountAt, depositKey } from '../support/deposit-log.ts';
import { appendAll, silentLog, testKafka } from '../support/kafka.ts';
import { LyingNode } from '../support/lying-node.ts';
import { addressOf } from '../support/operators.ts';
import { Deck, Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import {
  countsLine,
  recoveryLines,
  type FaultReport,
  type FaultRun,
  type Given,
  type Recovery,
} from './fault-run.ts';
import { ADDRESSES, CLOSING_RUN, LEDGER, OPENING_RUN, TRANSFERS } from './forgeries.ts';
import { FAILURES, SETTINGS, TREASURY } from './mint-settings.ts';
import { miscounted, misjudged, unlikeBalances, type Audited } from './mint-verdict.ts';
import { runOps, type OpsEnded } from './ops-run.ts';
import { figureOf, Processes } from './processes.ts';
import { plantsOf, Stranger } from './stranger.ts';
import { STRIKES, Treasuries, TREASURIES } from './treasuries.ts';
import { openCodec } from '../support/codec.ts';

export interface MintRunOptions {
  readonly deposits: number;
  readonly kills: number;
  /** 0: the run ends with what minting survives */
  readonly halts: number;
}

export interface MintRunReport extends FaultReport {
  readonly struck: Readonly<Record<string, number>>;
  /** treasuries that went on from a snapshot after they were killed */
  readonly from_snapshots: number;
  /** requests that each fault of the node has met */
  readonly failed: Readonly<Record<string, number>>;
  readonly reorganisations: number;
  readonly audited: Audited;
}

interface Parts {
  readonly stack: Stack;
  readonly codec: Codec;
  readonly second: LyingNode;
}

const ACCOUNTS = 24;
/** Nobody pays it. */
const UNPAID = { index: ACCOUNTS, address: depositKey().addressAt(ACCOUNTS) };
const USD = 1_000_000n;
const REORGANISE_EVERY = 2;
/** One in the ledger, one in `tron.transfers`. */
const FORGED_DEPOSITS = 2;
/** Deposits while minting is closed. */
const MEANWHILE = 3;
/** Final blocks in which nothing may be minted. */
const BLOCKS = 5;
const BECAUSE = ['--actor', 'alice', '--reason', 'known to us', '--json'];
class MintRun {
  readonly stack: Stack;
  readonly processes: Processes;
  readonly struck: Record<string, number> = {};
  readonly recoveries: Recovery[] = [];
  readonly paid = new Map<number, bigint[]>();
  readonly stranger: Stranger;
  /** claims that did not hold on the way */
  readonly violations: string[] = [];
  reorganisations = 0;
  /** payments */
  made = 0;
  #authority: Buffer = Buffer.alloc(0);
  readonly #options: MintRunOptions;
  readonly #random: Random;
  readonly #failures: Deck<(typeof FAILURES)[number]>;
  readonly #strikes: Deck<(typeof STRIKES)[number]>;
  readonly treasuries: Treasuries;
  readonly #progress: (line: string) => void;
  readonly #codec: Codec;
  readonly #second: LyingNode;
  readonly #settings: Record<string, Readonly<Record<string, string>>>;
  readonly #ledger: LedgerLog;

  constructor({ stack, codec, second }: Parts, options: MintRunOptions, { seed, progress }: Given) {
    this.stack = stack;
    this.#options = options;
    this.#random = new Random(seed);
    this.#failures = new Deck(FAILURES, this.#random);
    this.#strikes = new Deck(STRIKES, this.#random);
    this.#progress = progress;
    this.#codec = codec;
    this.#second = second;
    this.#settings = { ...SETTINGS, treasury: { ...TREASURY, APP_SECOND_NODE_URL: second.url } };
    this.processes = new Processes(stack, this.#settings);
    this.treasuries = new Treasuries(this.processes);
    const kafka = testKafka(stack.addresses);
    this.#ledger = new LedgerLog({ kafka, codec, log: silentLog() });
    const accounts = UNPAID.index + 1;
    this.stranger = new Stranger(kafka, codec, { random: this.#random, accounts, unpaid: UNPAID });
  }

  async start(): Promise<void> {
    await (await this.processes.start('devnet')).ready();
    for (const slot of ['chain-ingester', 'projector-watch', ...TREASURIES, 'tron-watcher'])
      await this.processes.start(slot);
    const now = Date.now();
    const { fingerprint } = depositKey();
    const events: DepositAddressEvent[] = [
      { type: 'SchemePinned', scheme: 'hd', extended_public_key: '', fingerprint, pinned_at: now },
      ...Array.from({ length: UNPAID.index + 1 }, (_, at): DepositAddressEvent => ({
        type: 'AddressRequested',
        clt_address: accountAt(at),
        requested_at: now,
        derivation_index: at,
        deposit_address: depositKey().addressAt(at),
      })),
    ];
    const entries = events.map((event) => ({
      key: depositAddressEventKey(event),
      value: this.#codec.encode(event),
      headers: { event_id: depositAddressEventId(event), event_type: event.type },
      timestamp: now,
    }));
    await appendAll(testKafka(this.stack.addresses), DEPOSIT_ADDRESSES.name, entries);
    for (const slot of TREASURIES) await this.processes.at(slot).ready();
  }

  /** Payments, faults, blows, forgeries, in turns; after each blow a new payment is credited. */
  async rounds(): Promise<void> {
    const { deposits, kills } = this.#options;
    const plants = [
      ...plantsOf(TREASURY_LEDGER, LEDGER),
      ...plantsOf(DEPOSIT_ADDRESSES, ADDRESSES),
      ...plantsOf(TRON_TRANSFERS, TRANSFERS),
      { topic: RESERVE_RUNS, kind: 'a run that does not match', forgery: CLOSING_RUN },
    ];
    for (let kill = 1; kill <= kills; kill++) {
      // one deck or more, in however few rounds
      const faults = Math.ceil(FAILURES.length / kills);
      const due = Math.floor((deposits * kill) / kills) - this.made;
      // some faults wait for a Mint, so each comes with a payment
      for (let fault = 0; fault < faults; fault++)
        await this.#fail(Math.max(1, Math.ceil(due / faults)));
      if (kill % REORGANISE_EVERY === 0) await this.#reorganise();
      await this.#moment();
      const what = this.#strikes.draw();
      const since = await this.treasuries.strike(what);
      this.struck[what] = (this.struck[what] ?? 0) + 1;
      await this.#pay(1);
      await until(
        () => this.treasuries.credited(),
        `all ${this.made} payments to be credited after a ${what}`,
        (seen) => seen === this.made,
      );
      const ms = Math.round(performance.now() - since);
      await this.processes.thaw();
      this.recoveries.push({ struck: what, ms });
      this.#progress(
        `kill ${kill} of ${kills}: ${what}; ${this.made} paid, all credited after ${ms} ms`,
      );
      const [from, to] = [kill - 1, kill].map((at) => Math.floor((plants.length * at) / kills));
      await this.stranger.forge(plants.slice(from, to));
    }
  }

  /** Lets everything come to rest: nothing fails any more, and all is credited. */
  async rest(): Promise<void> {
    await this.processes.thaw();
    await this.#admin('/faults', undefined, 'DELETE');
    await this.treasuries.allCredited(() => this.made);
  }

  /** A foreign Mint and a theft close the gate; an acknowledgement and the money open it. */
  async closeGate(): Promise<void> {
    const to = toHex(this.#random.bytes(20));
    const minted = await this.#admin('/clt/mint', { to, amount: '1000' });
    const thief = toTronAddress(this.#random.bytes(20));
    const stolen = [...this.paid].map(([account, amounts]) => ({
      from: toTronAddress(depositKey().addressAt(account)),
      to: thief,
      value: String(amounts.reduce((sum, amount) => sum + amount, 0n)),
      solidified: true,
    }));
    await until(
      () => this.treasuries.each((slot) => this.treasuries.isHalted(slot)),
      'minting to halt at the foreign Mint',
      (seen) => seen.includes(true),
    );
    await this.#admin('/tron/block', { transfers: stolen });
    // the second run of each began after the theft
    await this.treasuries.moreRuns(2, 'mismatch');
    const hash = String(Reflect.get(minted, 'transaction_hash'));
    await this.#ops('mint', 'acknowledge', hash, ...BECAUSE);
    await this.treasuries.everywhere(
      'the halt to end',
      async (slot) => !(await this.treasuries.isHalted(slot)),
    );
    await this.#nothingMinted('a forged run', async () => {
      await this.stranger.forge([
        { topic: RESERVE_RUNS, kind: 'a run that matches', forgery: OPENING_RUN },
      ]);
      // the second one of each was written, and read back, behind the forged one
      await this.treasuries.moreRuns(2);
      const closed = await this.treasuries.each((slot) =>
        this.treasuries.figure(slot, 'reserve_gate_closed'),
      );
      if (closed.includes(0)) this.violations.push('a forged run opened the gate');
    });
    const value = stolen.reduce((sum, each) => sum + BigInt(each.value), 0n);
    const custody = defaultSettings.APP_CUSTODY_ADDRESSES;
    const back = { from: thief, to: custody, value: String(value), solidified: true };
    await this.#admin('/tron/block', { transfers: [back] });
    await this.treasuries.allCredited(() => this.made);
    this.#progress('a foreign Mint was acknowledged, and stolen money came back');
  }

  /** The second node lies; meanwhile the authority is rotated. */
  async lieAndRotate(): Promise<void> {
    this.#second.lie = 'another_hash';
    await this.treasuries.everywhere(
      'the nodes to disagree',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_chain_contradicted', 'second_node')) === 1,
    );
    const wallet = new Wallet(`0x${this.#random.bytes(32).toString('hex')}`);
    const address = wallet.address.toLowerCase();
    this.#authority = addressOf(wallet);
    await this.#nothingMinted('a second node that lies', async () => {
      await this.#ops('authority', 'rotate', address, ...BECAUSE);
      await this.#admin('/clt/authority', { address });
      const final = await this.#finalHeight();
      await until(
        () => this.#finalHeight(),
        `${BLOCKS} more final blocks`,
        (seen) => seen >= final + BLOCKS,
      );
    });
    this.#second.lie = 'none';
    this.#settings['treasury'] = { ...this.#settings['treasury'], APP_MINT_KEY: wallet.privateKey };
    for (const slot of TREASURIES) await this.processes.kill(slot);
    await this.treasuries.allCredited(() => this.made);
    this.#progress('the second node lied, and the authority was rotated');
  }

  /** A forged final block halts minting. */
  async forgeBlock(): Promise<void> {
    await this.processes.drain(['chain-ingester']);
    await this.stranger.forgeBlock(this.#authority);
    await this.treasuries.everywhere(
      'minting to halt at the forged block',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_chain_contradicted', 'bytes')) === 1,
    );
  }

  /** A record that names another one before it halts every reader, and ends the audit. */
  async breakChains(): Promise<void> {
    const chained = [
      { topic: RESERVE_RUNS, kind: 'ReserveReconciled', forgery: CLOSING_RUN },
      ...plantsOf(TREASURY_LEDGER, LEDGER).slice(0, 1),
      ...plantsOf(DEPOSIT_ADDRESSES, ADDRESSES).slice(0, 1),
    ];
    for await (const { topic, offset } of this.stranger.misplace(chained)) {
      await this.treasuries.everywhere(`the treasury to halt at ${topic}`, async (slot) =>
        topic === RESERVE_RUNS.name
          ? this.processes.at(slot).log().includes('"msg":"reconciling halted"')
          : (await this.treasuries.figure(slot, 'treasury_halted')) === 1,
      );
      const { code, stderr } = await this.audit();
      if (code !== 2 || !stderr.includes(`${topic}/0: the record at offset ${offset} `))
        this.violations.push(`the audit does not end at ${topic}/0@${offset}: ${stderr}`);
    }
  }

  /** `ops audit`, with the key that derives the addresses. */
  audit(): Promise<OpsEnded> {
    return runOps(this.stack.addresses, ['audit', '--json'], defaultSettings);
  }

  async #pay(count: number): Promise<void> {
    const transfers = Array.from({ length: count }, () => {
      const account = this.#random.below(ACCOUNTS);
      const value = 3n * USD + BigInt(this.#random.below(20_000_000));
      this.paid.set(account, [...(this.paid.get(account) ?? []), value]);
      return { to: toTronAddress(depositKey().addressAt(account)), value: String(value) };
    });
    if (count > 0) await this.#admin('/tron/block', { transfers });
    this.made += count;
  }

  /** Pays, and waits until all is confirmed; then nothing may be minted, whatever happens. */
  async #nothingMinted(despite: string, happens: () => Promise<void>): Promise<void> {
    const before = await this.#requested();
    await this.#pay(MEANWHILE);
    const confirmed = this.made + FORGED_DEPOSITS;
    await this.treasuries.everywhere(
      'the deposits to be confirmed',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_deposits_confirmed_total')) === confirmed,
    );
    await happens();
    const minted = (await this.#requested()) - before;
    if (minted > 0) this.violations.push(`${minted} mints were requested in spite of ${despite}`);
  }

  /** Mints in the ledger, with those given up. */
  async #requested(): Promise<number> {
    await this.#ledger.catchUp();
    return [...this.#ledger.ledger.requested].length;
  }

  async #finalHeight(): Promise<number> {
    const response = await fetch(`${this.stack.addresses.node_url}/v1/chain`);
    return Number(Object(await response.json()).finalized_height);
  }

  /** A command of an operator. */
  async #ops(...words: readonly string[]): Promise<void> {
    const { APP_OPERATOR_KEY } = defaultSettings;
    const ended = await runOps(this.stack.addresses, words, { APP_OPERATOR_KEY });
    if (ended.code !== 0) throw new Error(`ops ${words.join(' ')}: ${ended.stdout}${ended.stderr}`);
  }

  /** Switches the next fault on, with payments; resolves when it has met a request. */
  async #fail(payments: number): Promise<void> {
    const [mode, most, delay_ms] = this.#failures.draw();
    const before = (await this.failed())[mode] ?? 0;
    await this.#admin('/faults', {
      target: 'node',
      mode,
      times: 1 + this.#random.below(most),
      delay_ms,
    });
    await this.#pay(payments);
    await until(
      () => this.failed(),
      `a request that ${mode} meets`,
      (seen) => (seen[mode] ?? 0) > before,
    );
  }

  /** Requests that each fault has met so far. */
  async failed(): Promise<Readonly<Record<string, number>>> {
    const response = await this.#ask('/faults/taken', undefined, 'GET');
    return Object(await response.json()).node;
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

  async #admin(path: string, body: unknown, method = 'POST'): Promise<object> {
    const response = await this.#ask(path, body, method);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return Object(await response.json());
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
  const second = await LyingNode.open(stack.addresses.node_url);
  try {
    await ensureTopics(testKafka(stack.addresses), AUDITED_TOPICS);
    const codec = await openCodec(stack.addresses.registry_url, AUDITED_TOPICS);
    return await reportOf(new MintRun({ stack, codec, second }, options, given), options);
  } finally {
    await second.close();
    await stack.stop();
  }
}

async function reportOf(run: MintRun, options: MintRunOptions): Promise<MintRunReport> {
  try {
    const { processes } = run;
    await processes.whileAllRun(run.start());
    await processes.whileAllRun(run.rounds());
    const failed = await run.failed();
    await processes.whileAllRun(run.rest());
    await processes.whileAllRun(run.closeGate());
    await processes.whileAllRun(run.lieAndRotate());
    // of those that end in each outcome: requested, and credited or dead
    const told = await figureOf(processes.at('treasury'), 'treasury_mints_total');
    if (options.halts > 0) await processes.whileAllRun(run.forgeBlock());
    const { stdout, stderr } = await run.audit();
    if (stdout === '') throw new Error(stderr);
    const audited: Audited = JSON.parse(stdout);
    if (options.halts > 0) await processes.whileAllRun(run.breakChains());
    const { mints, deposits, sums } = audited;
    // the foreign one, and that of the forged block
    const others = options.halts > 0 ? 2 : 1;
    return {
      struck: run.struck,
      from_snapshots: run.treasuries.from_snapshots,
      failed,
      reorganisations: run.reorganisations,
      audited,
      lines: [
        `treasuries struck: ${countsLine(run.struck)}, of which ${run.treasuries.from_snapshots} went on from a snapshot; requests that the node failed: ${countsLine(failed)}; reorganisations: ${run.reorganisations}`,
        `${deposits} deposits, ${mints} Mints; ${told / 2 - run.made} mints given up because somebody else had their nonce; ${audited.without_effect} records without effect`,
        `forged: ${run.stranger.planted.map(({ kind, found = 'never minted' }) => `${kind} (${found})`).join(', ')}`,
        `arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held}, the same at every offset`,
        `checked: ${countsLine(audited.checked)}`,
        ...recoveryLines(
          'from a restart, or a freeze, until a payment is credited that was made once the restarted process was ready',
          run.recoveries,
        ),
      ],
      violations: [
        ...run.violations,
        ...misjudged(audited, run.stranger.planted),
        ...(await unlikeBalances(run.stack.addresses.node_url, run.paid)),
        ...miscounted(audited, { made: run.made, forged: FORGED_DEPOSITS, others }),
      ],
    };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${run.processes.lastLines()}`, { cause });
  } finally {
    await run.stranger.close();
  }
}

export const mint: FaultRun<keyof MintRunOptions> = {
  about:
    'two treasuries mint what is paid, killed and frozen at random, while the node lies, lags and reorganises, a person takes nonces\n' +
    'and a stranger forges a record of every kind; then a foreign Mint, a theft, a second node that lies, a rotation of the\n' +
    'authority; ops audit has to find each forged record and nothing else',
  options: {
    deposits: { about: 'how many deposits', default: 1_000 },
    kills: { about: 'how many blows', default: 60 },
    halts: { about: 'at the end records that halt every reader, 0: none', default: 1 },
  },
  run: mintFaultRun,
};

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
 * 4. The verdict: `ops audit` has to find each forged record, by its invariant and at its offset,
 *    and nothing else.
 * 5. Optional: records that halt every reader.
 */
import { Wallet } from 'ethers';
import { defaultSettings } from '../../infra/services/settings.ts';
import { toHex } from '../../schemas/address.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { DEPOSIT_ADDRESSES, RESERVE_RUNS, TREASURY_LEDGER } from '../../schemas/topics.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { AUDITED_TOPICS } from '../../services/ops/audit/audit.ts';
import { LedgerLog } from '../../services/ops/deposit/ledger-log.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { openCodec } from '../support/codec.ts';
import { accountAt, depositKey } from '../support/deposit-log.ts';
import { appendAll, silentLog } from '../support/kafka.ts';
import { LyingNode } from '../support/lying-node.ts';
import { addressOf } from '../support/operators.ts';
import { Deck } from '../support/random.ts';
import { until } from '../support/until.ts';
import { countsLine, type FaultRun, type Given } from './fault-run.ts';
import { ADDRESSES, CLOSING_RUN, LEDGER, OPENING_RUN } from './forgeries.ts';
import { FAILURES, SETTINGS, TREASURY } from './mint-settings.ts';
import { runOps } from './ops-run.ts';
import { figureOf } from './processes.ts';
import { FORGED_DEPOSITS, PLANTS, plantsIn, plantsOf, Stranger } from './stranger.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { STRIKES, Treasuries, TREASURIES } from './treasuries.ts';
import { audit, comesToRest, misjudged, verdict, type SystemReport } from './verdict.ts';

/** `halts` 0: the run ends with what minting survives. */
type Options = Readonly<Record<'deposits' | 'kills' | 'halts', number>>;

interface MintReport extends SystemReport {
  /** treasuries that went on from a snapshot after they were killed */
  readonly from_snapshots: number;
  /** requests that each fault of the node has met */
  readonly failed: Readonly<Record<string, number>>;
}

const PROJECTIONS = ['watch', 'deposits', 'explorer'];
const SERVICES = [
  'chain-ingester',
  ...PROJECTIONS.map((name) => `projector-${name}`),
  ...TREASURIES,
  'tron-watcher',
];
const ACCOUNTS = 24;
/** Nobody pays it. */
const UNPAID = { index: ACCOUNTS, address: depositKey().addressAt(ACCOUNTS) };
const USD = 1_000_000n;
const REORGANISE_EVERY = 2;
const DEPTH_MAX = 3;
/** Deposits while minting is closed. */
const MEANWHILE = 3;
const MEASURED =
  'from a restart, or a freeze, until a payment is credited that was made once the restarted process was ready';
/** Final blocks in which nothing may be minted. */
const BLOCKS = 5;
const BECAUSE = ['--actor', 'alice', '--reason', 'known to us', '--json'];

class MintRun {
  readonly treasuries: Treasuries;
  readonly stranger: Stranger;
  readonly #system: System<StackPlace>;
  readonly #codec: Codec;
  readonly #second: LyingNode;
  readonly #treasury: Record<string, string>;
  readonly #failures: Deck<(typeof FAILURES)[number]>;
  readonly #strikes: Deck<(typeof STRIKES)[number]>;
  readonly #ledger: LedgerLog;
  #authority: Buffer = Buffer.alloc(0);

  /** `treasury`: its settings, which a rotation changes. */
  constructor(
    system: System<StackPlace>,
    codec: Codec,
    second: LyingNode,
    treasury: Record<string, string>,
  ) {
    const { random, place } = system;
    this.#system = system;
    this.#codec = codec;
    this.#second = second;
    this.#treasury = treasury;
    this.#failures = new Deck(FAILURES, random);
    this.#strikes = new Deck(STRIKES, random);
    this.treasuries = new Treasuries(system);
    this.#ledger = new LedgerLog({ kafka: place.kafka, codec, log: silentLog() });
    const accounts = UNPAID.index + 1;
    this.stranger = new Stranger(place.kafka, codec, { random, accounts, unpaid: UNPAID });
  }

  async start(): Promise<void> {
    await this.#system.start(SERVICES);
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
    await appendAll(this.#system.place.kafka, DEPOSIT_ADDRESSES.name, entries);
    await this.#system.ready(TREASURIES);
  }

  /** Payments, faults, blows, forgeries, in turns; after each blow a new payment is credited. */
  async rounds({ deposits, kills }: Options): Promise<void> {
    const system = this.#system;
    const plants = [
      ...PLANTS,
      { topic: RESERVE_RUNS, kind: 'a run that does not match', forgery: CLOSING_RUN },
    ];
    for (let kill = 1; kill <= kills; kill++) {
      // one deck or more, in however few rounds
      const faults = Math.ceil(FAILURES.length / kills);
      const due = Math.floor((deposits * kill) / kills) - this.#made;
      // some faults wait for a Mint, so each comes with a payment
      for (let fault = 0; fault < faults; fault++)
        await this.#fail(Math.max(1, Math.ceil(due / faults)));
      if (kill % REORGANISE_EVERY === 0) await system.reorganise(DEPTH_MAX);
      await this.#moment();
      const what = this.#strikes.draw();
      const since = await this.treasuries.strike(what);
      await this.#pay(1);
      await until(
        () => system.credited(),
        `all ${this.#made} payments to be credited after a ${what}`,
        (seen) => seen === this.#made,
      );
      const ms = system.recovered(MEASURED, what, since);
      await system.processes.thaw();
      system.progress(
        `kill ${kill} of ${kills}: ${what}; ${this.#made} paid, all credited after ${ms} ms`,
      );
      await this.stranger.forge(plantsIn(plants, kill, kills));
    }
  }

  /** Lets everything come to rest: nothing fails any more, and all is credited. */
  async rest(): Promise<void> {
    await this.#system.processes.thaw();
    await this.#system.admin('/faults', undefined, 'DELETE');
    await this.#system.allCredited();
  }

  /** A foreign Mint and a theft close the gate; an acknowledgement and the money open it. */
  async closeGate(): Promise<void> {
    const { random, payments } = this.#system;
    const to = toHex(random.bytes(20));
    const minted = await this.#system.admin('/clt/mint', { to, amount: '1000' });
    const thief = toTronAddress(random.bytes(20));
    const paid = Map.groupBy(payments.payables.values(), (payable) => payable.to);
    const stolen = [...paid].map(([from, each]) => ({
      from,
      to: thief,
      value: String(each.reduce((sum, { value }) => sum + value, 0n)),
      solidified: true,
    }));
    await until(
      () => this.treasuries.each((slot) => this.treasuries.isHalted(slot)),
      'minting to halt at the foreign Mint',
      (seen) => seen.includes(true),
    );
    await this.#system.admin('/tron/block', { transfers: stolen });
    // the second run of each began after the theft
    await this.treasuries.moreRuns(2, 'mismatch');
    const hash = String(minted['transaction_hash']);
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
      if (closed.includes(0)) this.#system.violations.push('a forged run opened the gate');
    });
    const value = stolen.reduce((sum, each) => sum + BigInt(each.value), 0n);
    const custody = defaultSettings.APP_CUSTODY_ADDRESSES;
    const back = { from: thief, to: custody, value: String(value), solidified: true };
    await this.#system.admin('/tron/block', { transfers: [back] });
    await this.#system.allCredited();
    this.#system.progress('a foreign Mint was acknowledged, and stolen money came back');
  }

  /** The second node lies; meanwhile the authority is rotated. */
  async lieAndRotate(): Promise<void> {
    this.#second.lie = 'another_hash';
    await this.treasuries.everywhere(
      'the nodes to disagree',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_chain_contradicted', 'second_node')) === 1,
    );
    const key = this.#system.random.bytes(32).toString('hex');
    const wallet = new Wallet(`0x${key}`);
    const address = wallet.address.toLowerCase();
    this.#authority = addressOf(wallet);
    await this.#nothingMinted('a second node that lies', async () => {
      await this.#ops('authority', 'rotate', address, ...BECAUSE);
      await this.#system.admin('/clt/authority', { address });
      await this.#system.blocks(BLOCKS, 'final');
    });
    this.#second.lie = 'none';
    this.#treasury['APP_MINT_KEY'] = wallet.privateKey;
    for (const slot of TREASURIES) await this.#system.processes.kill(slot);
    await this.#system.allCredited();
    this.#system.progress('the second node lied, and the authority was rotated');
  }

  /** A forged final block halts minting. */
  async forgeBlock(): Promise<void> {
    await this.#system.processes.drain(['chain-ingester']);
    await this.stranger.forgeBlock(this.#authority);
    await this.treasuries.everywhere(
      'minting to halt at the forged block',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_chain_contradicted', 'bytes')) === 1,
    );
  }

  /** A record behind another one than the log has halts readers and ends the audit. */
  async breakChains(): Promise<readonly string[]> {
    const violations: string[] = [];
    const chained = [
      { topic: RESERVE_RUNS, kind: 'ReserveReconciled', forgery: CLOSING_RUN },
      ...plantsOf(TREASURY_LEDGER, LEDGER).slice(0, 1),
      ...plantsOf(DEPOSIT_ADDRESSES, ADDRESSES).slice(0, 1),
    ];
    for await (const { topic, offset } of this.stranger.misplace(chained)) {
      await this.treasuries.everywhere(`the treasury to halt at ${topic}`, async (slot) =>
        topic === RESERVE_RUNS.name
          ? this.#system.processes.at(slot).log().includes('"msg":"reconciling halted"')
          : (await this.treasuries.figure(slot, 'treasury_halted')) === 1,
      );
      const { addresses, operator } = this.#system.place;
      const { code, stderr } = await runOps(addresses, ['audit', '--json'], operator);
      if (code !== 2 || !stderr.includes(`${topic}/0: the record at offset ${offset} `))
        violations.push(`the audit does not end at ${topic}/0@${offset}: ${stderr}`);
    }
    return violations;
  }

  get #made(): number {
    return this.#system.payments.made;
  }

  #pay(count: number): Promise<void> {
    const { random, payments } = this.#system;
    return payments.pay(
      Array.from({ length: count }, () => ({
        to: toTronAddress(depositKey().addressAt(random.below(ACCOUNTS))),
        value: 3n * USD + BigInt(random.below(20_000_000)),
      })),
    );
  }

  /** Pays, and waits until all is confirmed; then nothing may be minted, whatever happens. */
  async #nothingMinted(despite: string, happens: () => Promise<void>): Promise<void> {
    const before = await this.#requested();
    await this.#pay(MEANWHILE);
    const confirmed = this.#made + FORGED_DEPOSITS;
    await this.treasuries.everywhere(
      'the deposits to be confirmed',
      async (slot) =>
        (await this.treasuries.figure(slot, 'treasury_deposits_confirmed_total')) === confirmed,
    );
    await happens();
    const minted = (await this.#requested()) - before;
    if (minted > 0)
      this.#system.violations.push(`${minted} mints were requested in spite of ${despite}`);
  }

  /** Mints in the ledger, with those given up. */
  async #requested(): Promise<number> {
    await this.#ledger.catchUp();
    return [...this.#ledger.ledger.requested].length;
  }

  /** A command of an operator. */
  async #ops(...words: readonly string[]): Promise<void> {
    const { addresses, operator } = this.#system.place;
    const ended = await runOps(addresses, words, operator);
    if (ended.code !== 0) throw new Error(`ops ${words.join(' ')}: ${ended.stdout}${ended.stderr}`);
  }

  /** Switches the next fault on, with payments; resolves when it has met a request. */
  #fail(payments: number): Promise<void> {
    const [mode, most, delay_ms] = this.#failures.draw();
    const times = 1 + this.#system.random.below(most);
    return this.#system.fail({ target: 'node', mode, times, delay_ms }, () => this.#pay(payments));
  }

  /** Waits for a moment that nobody chose: so many questions. */
  async #moment(): Promise<void> {
    for (let asked = this.#system.random.below(60); asked > 0; asked--)
      await this.#system.failed('node');
  }
}

function run(options: Options, given: Given): Promise<MintReport> {
  const treasury: Record<string, string> = { ...TREASURY };
  return onStack({ ...SETTINGS, treasury }, given, async (system) => {
    const { kafka, registry_url, addresses } = system.place;
    const second = await LyingNode.open(addresses.node_url);
    treasury['APP_SECOND_NODE_URL'] = second.url;
    await ensureTopics(kafka, AUDITED_TOPICS);
    const codec = await openCodec(registry_url, AUDITED_TOPICS);
    const minting = new MintRun(system, codec, second, treasury);
    try {
      return await reportOf(system, minting, options);
    } finally {
      await minting.stranger.close();
      await second.close();
    }
  });
}

async function reportOf(
  system: System<StackPlace>,
  minting: MintRun,
  options: Options,
): Promise<MintReport> {
  const { processes } = system;
  const { stranger, treasuries } = minting;
  await minting.start();
  await minting.rounds(options);
  const failed = await system.failed('node');
  await minting.rest();
  await minting.closeGate();
  await minting.lieAndRotate();
  // of those that end in each outcome: requested, and credited or dead
  const told = await figureOf(processes.at('treasury'), 'treasury_mints_total');
  await comesToRest(system, ['explorer']);
  const report = await verdict(system, {
    projections: PROJECTIONS,
    planted: stranger.planted,
    forged: FORGED_DEPOSITS,
    // the foreign one
    others: 1,
  });
  const halting: string[] = [];
  if (options.halts > 0) {
    await system.admin('/clt/auto', { enabled: true });
    await minting.forgeBlock();
    halting.push(...misjudged(await audit(system.place), stranger.planted));
    halting.push(...(await minting.breakChains()));
  }
  return {
    ...report,
    from_snapshots: treasuries.from_snapshots,
    failed,
    lines: [
      ...report.lines,
      `treasuries that went on from a snapshot: ${treasuries.from_snapshots}; requests that the node failed: ${countsLine(failed)}; ${told / 2 - system.payments.made} mints given up because somebody else had their nonce`,
      `forged: ${stranger.planted.map(({ kind, found = 'never minted' }) => `${kind} (${found})`).join(', ')}`,
    ],
    violations: [...report.violations, ...halting],
  };
}

export const mint: FaultRun<keyof Options, MintReport> = {
  about:
    'two treasuries mint what is paid, killed and frozen at random, while the node lies, lags and reorganises, a person takes nonces\n' +
    'and a stranger forges a record of every kind; then a foreign Mint, a theft, a second node that lies, a rotation of the\n' +
    'authority; ops audit has to find each forged record and nothing else',
  options: {
    deposits: { about: 'how many deposits', default: 1_000 },
    kills: { about: 'how many blows', default: 60 },
    halts: { about: 'at the end records that halt every reader, 0: none', default: 1 },
  },
  run,
};

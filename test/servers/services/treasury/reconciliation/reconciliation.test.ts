/** Reconciling as a whole: real brokers, the devnet's TRON over HTTP, logs written by hand. */
import { expect, inject, onTestFinished, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import { parseReconciliation } from '../../../../../schemas/treasury-api/reconciliation.ts';
import {
  isReserveEvent,
  type ReserveReconciled,
} from '../../../../../schemas/reserve.runs/events.ts';
import { RESERVE_RUNS, TREASURY_LEDGER } from '../../../../../schemas/topics.ts';
import type { TreasuryEvent } from '../../../../../schemas/treasury.ledger/events.ts';
import { parseTronAddress, toTronAddress } from '../../../../../schemas/tron-address.ts';
import type { Codec } from '../../../../../services/runtime/kafka/codec.ts';
import { openHttp } from '../../../../../services/runtime/http/server.ts';
import { Metrics } from '../../../../../services/runtime/process/metrics.ts';
import { toEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import { LOG_TOPICS, type LogNames } from '../../../../../services/treasury/reconciliation/logs.ts';
import {
  NewestRun,
  reconciliationRoute,
} from '../../../../../services/treasury/reconciliation/newest-run.ts';
import {
  Reconciliation,
  type ReconciliationOptions,
} from '../../../../../services/treasury/reconciliation/reconciliation.ts';
import { ChainByHand, named } from '../../../../support/chain-by-hand.ts';
import { confirmedEvent, depositEvents, placed } from '../../../../support/deposit-events.ts';
import { accountAt, depositKey, USDT_CONTRACT } from '../../../../support/deposit-log.ts';
import { withDevnet, type TestDevnet } from '../../../../support/devnet.ts';
import {
  appendAll,
  freshTopic,
  readAll,
  rewriteTopic,
  silentLog,
  testKafka,
} from '../../../../support/kafka.ts';
import { TestTron } from '../../../../support/tron.ts';
import { openCodec } from '../../../../support/codec.ts';
import { TREASURY } from '../../../../support/openapi.ts';

const USD = 1_000_000n;
const OWNER = accountAt(0);
const CUSTODY = 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ';
const DEPOSIT_ADDRESS = depositKey().addressAt(0);

function addressOf(base58: string): Buffer {
  const address = parseTronAddress(base58);
  if (address === undefined) throw new Error(`${base58} is no address`);
  return address;
}

class Reserve {
  readonly devnet: TestDevnet;
  readonly tron: TestTron;
  readonly codec: Codec;
  readonly names: LogNames;
  readonly kafka = testKafka(inject('stack'));
  readonly #chain = new ChainByHand();
  #told = 0;
  #events = 0;

  constructor(devnet: TestDevnet, codec: Codec, names: LogNames) {
    this.devnet = devnet;
    this.tron = new TestTron(devnet);
    this.codec = codec;
    this.names = names;
  }

  async write(...events: readonly TreasuryEvent[]): Promise<void> {
    await appendAll(
      this.kafka,
      this.names.ledger,
      toEntries(this.codec, placed(events, this.#events)),
    );
    this.#events += events.length;
  }

  /** A final block that mints so much to the owner; without an amount the first one. */
  async block(amount?: bigint, hash = named(`mint ${amount}`, 32)): Promise<void> {
    const effect = { address: OWNER, kind: 'mint', delta: amount ?? 1_000n * USD };
    if (amount === undefined) this.#chain.append({ effects: [effect] });
    else
      this.#chain.append({
        transactions: [{ from: named('authority'), to: OWNER, hash }],
        effects: [{ ...effect, tx_index: 0 }],
      });
    this.#chain.finalize();
    const news = this.#chain.log.slice(this.#told);
    this.#told += news.length;
    const entries = news.map((event) => ({
      key: '0',
      value: this.codec.encode(event),
      headers: {},
      timestamp: 1,
    }));
    await appendAll(this.kafka, this.names.chain, entries);
  }

  /** 10 USDT come, 8 are minted. */
  async credit(): Promise<void> {
    const id = await this.tron.transfer({
      to: toTronAddress(DEPOSIT_ADDRESS),
      value: String(10n * USD),
      solidified: true,
    });
    const at = (await this.tron.receipt(id))?.blockTimeStamp ?? 0;
    const tx_id = Buffer.from(id, 'hex');
    const deposit = confirmedEvent({
      tx_id,
      deposit_address: DEPOSIT_ADDRESS,
      clt_address: OWNER,
      block_timestamp: at,
    });
    const tx_hash = named('decided', 32);
    const intended = depositEvents(deposit.deposit_id).intended({
      to: OWNER,
      amount: 8n * USD,
      nonce: 0,
      tx_hash,
    });
    await this.write(deposit, intended);
    await this.block(8n * USD, tx_hash);
  }

  async runs(): Promise<readonly ReserveReconciled[]> {
    const records = await readAll(this.kafka, this.names.runs);
    return records
      .map(({ value, headers }) => this.codec.decode(value, headers))
      .filter(isReserveEvent);
  }

  async statuses(from: number): Promise<readonly string[]> {
    return (await this.runs()).slice(from).map(({ status }) => status);
  }

  /** A run that nobody measured, like the last one but for this. */
  async forge(change: Partial<ReserveReconciled>): Promise<void> {
    const last = (await this.runs()).at(-1);
    if (last === undefined) throw new Error('there is no run to copy');
    const value = this.codec.encode({ ...last, run_id: 'forged', ...change });
    const entry = { key: 'forged', value, headers: {}, timestamp: last.run_at };
    await appendAll(this.kafka, this.names.runs, [entry]);
  }

  open(signal: AbortSignal, newest = new NewestRun(), every = 86_400_000): Reconciliation {
    const config: ReconciliationOptions['config'] = {
      tron_url: this.devnet.tron_url,
      tron_api_key: '',
      usdt_contract: USDT_CONTRACT,
      custody_addresses: [addressOf(CUSTODY)],
      reserve_tolerance: 100_000n,
      reconcile_requests_per_second: 1_000,
      reconcile_requests_per_day: 0,
      arriving_max_ms: 86_400_000,
      attempts_max: 2,
      backoff_ms_min: 1,
      backoff_ms_max: 5,
      reconcile_every_ms: every,
      // the blocks of this chain are old
      reconcile_age_max_ms: 0,
    };
    const { kafka, codec, names } = this;
    const how = { log: silentLog(), metrics: new Metrics('test'), source: 'test', confirm_ms: 1 };
    return new Reconciliation({ config, kafka, codec, names, signal, newest, ...how });
  }
}

async function withReserve(use: (reserve: Reserve) => Promise<void>): Promise<void> {
  const stack = inject('stack');
  const kafka = testKafka(stack);
  const codec = await openCodec(stack.registry_url, LOG_TOPICS);
  const names = {
    chain: await freshTopic(kafka),
    ledger: await freshTopic(kafka, { config: TREASURY_LEDGER.config }),
    runs: await freshTopic(kafka, { config: RESERVE_RUNS.config }),
  };
  await withDevnet(async (devnet) => {
    const reserve = new Reserve(devnet, codec, names);
    await reserve.block();
    const policy = {
      type: 'PolicySet',
      sequence: 0,
      version: 1,
      network: 'testnet',
      ...NETWORK_LIMITS.testnet,
      decided_at: 1,
    } as const;
    await reserve.write(policy);
    await use(reserve);
  });
}

/** Works in the background until `stop`. */
function start(
  reserve: Reserve,
  newest: NewestRun,
  every: number,
): { readonly working: Reconciliation; readonly stop: () => Promise<void> } {
  const stopping = new AbortController();
  const working = reserve.open(stopping.signal, newest, every);
  const ended = working.run();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  onTestFinished(stop);
  return { working, stop };
}

test('a healthy reserve is ok, a surplus is drift, and an unrequested mint is a published mismatch that closes the gate, also after restarts', async () => {
  await withReserve(async (reserve) => {
    const newest = new NewestRun();
    const http = await openHttp(
      { http_host: '127.0.0.1', http_port: 0 },
      { log: silentLog(), metrics: new Metrics('test'), routes: [reconciliationRoute(newest, 0n)] },
    );
    const published = async (): Promise<unknown> => {
      const answer = await fetch(`${http.url}/public/reconciliation`);
      const { status, headers } = answer;
      const text = await answer.text();
      TREASURY.checkAnswer('GET', '/public/reconciliation', { status, headers, text });
      return status === 200 ? parseReconciliation(text) : status;
    };
    const isStatus = (status: string): Promise<unknown> =>
      expect.poll(() => newest.run?.status, { interval: 20 }).toBe(status);
    try {
      expect(await published()).toBe(503);
      const { working, stop } = start(reserve, newest, 150);
      await isStatus('ok');
      await reserve.credit();
      await expect.poll(() => newest.run?.treasury_minted, { interval: 20 }).toBe(8n * USD);
      expect(newest.run).toMatchObject({
        ledger_offset: 3,
        block_height: 1,
        onchain_supply: 1_008n * USD,
        genesis_allocation: 1_000n * USD,
        burned: 0n,
        ledger_liability: 8n * USD,
        custody_reported: 10n * USD,
        held: 0n,
        retained_fees: 2n * USD,
        status: 'ok',
      });
      expect([working.problem?.message, working.mintingAllowed()]).toEqual([undefined, undefined]);

      await reserve.tron.transfer({ to: CUSTODY, value: String(5n * USD), solidified: true });
      await isStatus('over_backed_drift');
      expect([newest.run?.custody_reported, working.mintingAllowed()]).toEqual([
        15n * USD,
        undefined,
      ]);

      await reserve.block(3n * USD);
      await isStatus('mismatch');
      expect(working.mintingAllowed()).toMatch(
        /^the reserve does not match \(reconciliation \S+ of 20\S+Z\)\. What to do: /,
      );
      await stop();
      expect(await published()).toEqual({
        value: {
          tolerance: 0n,
          last_run: {
            run_at: new Date(newest.run?.run_at ?? 0).toISOString(),
            onchain_supply: 1_011n * USD,
            genesis_allocation: 1_000n * USD,
            treasury_minted: 8n * USD,
            ledger_liability: 8n * USD,
            custody_reported: 15n * USD,
            status: 'mismatch',
          },
        },
      });
      const runs = await reserve.runs();
      expect(new Set(runs.map(({ status }) => status))).toEqual(
        new Set(['ok', 'over_backed_drift', 'mismatch']),
      );
      expect(new Set(runs.map(({ run_id: runId }) => runId)).size).toBe(runs.length);

      const again = start(reserve, new NewestRun(), 86_400_000);
      expect(again.working.mintingAllowed()).toMatch('not read yet');
      await expect.poll(() => reserve.statuses(runs.length)).toEqual(['mismatch']);
      await reserve.forge({ status: 'ok', uncovered: 0n });
      await expect
        .poll(() => reserve.statuses(runs.length))
        .toEqual(['mismatch', 'ok', 'mismatch']);
      expect(again.working.mintingAllowed()).toMatch('does not match');
      await again.stop();
    } finally {
      await http.drain();
    }
  });
});

test('missing custody is a mismatch; a failing provider delays the run', async () => {
  await withReserve(async (reserve) => {
    const { signal } = new AbortController();
    await reserve.credit();
    await reserve.tron.fault('status_503');
    await expect(reserve.open(signal).once()).rejects.toMatchObject({
      message: expect.stringContaining("TRON's provider did not serve"),
    });
    expect(await reserve.runs()).toEqual([]);
    await reserve.devnet.admin('/admin/faults', undefined, 'DELETE');
    expect(await reserve.open(signal).once()).toMatchObject({
      status: 'ok',
      custody_reported: 10n * USD,
    });
    await reserve.tron.transfer({
      from: toTronAddress(DEPOSIT_ADDRESS),
      to: 'TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb',
      value: String(3n * USD),
      solidified: true,
    });
    expect(await reserve.open(signal).once()).toMatchObject({
      status: 'mismatch',
      custody_reported: 7n * USD,
    });
    expect((await reserve.runs()).map(({ status }) => status)).toEqual(['ok', 'mismatch']);
  });
});

test('money at a blocked address is frozen, and all of custody while the token is paused: nothing is minted', async () => {
  await withReserve(async (reserve) => {
    const { signal } = new AbortController();
    await reserve.credit();
    const blocked = [toTronAddress(DEPOSIT_ADDRESS)];
    const frozen = {
      status: 'ok',
      custody_reported: 10n * USD,
      frozen: 10n * USD,
      uncovered: 8n * USD,
    };
    const free = { ...frozen, frozen: 0n, uncovered: 0n };
    for (const [change, run] of [
      [{ blocked }, frozen],
      [{ blocked: [], paused: true }, frozen],
      [{ paused: false, deprecated: true }, frozen],
      [{ deprecated: false, fee_basis_points: 10 }, free],
      [{ blocked: [toTronAddress(OWNER)] }, free],
    ] as const) {
      await reserve.tron.token(change);
      expect({ change, run: await reserve.open(signal).once() }).toMatchObject({ change, run });
    }
    expect((await reserve.runs()).map((run) => run.frozen)).toEqual([
      10n * USD,
      10n * USD,
      10n * USD,
      0n,
      0n,
    ]);
    await reserve.tron.token({ blocked });
    const { working } = start(reserve, new NewestRun(), 86_400_000);
    await expect
      .poll(() => working.mintingAllowed() ?? '', { interval: 20 })
      .toMatch('10000000 micro-USDT in custody are frozen');
  });
});

test('an impossible log halts reconciling, with the reason, and closes the gate', async () => {
  await withReserve(async (reserve) => {
    const newest = new NewestRun();
    const { working } = start(reserve, newest, 86_400_000);
    await expect.poll(() => working.mintingAllowed(), { interval: 20 }).toBe(undefined);
    await appendAll(reserve.kafka, reserve.names.chain, [
      { key: '?', value: Buffer.from('no avro'), headers: {}, timestamp: 1 },
    ]);
    await expect
      .poll(() => working.problem?.message, { interval: 20 })
      .toMatch(/^reconciling halted: .*cannot be applied.*What to do: /);
    expect(working.mintingAllowed()).toBe(working.problem?.message);
  });
});

test('a ledger that was written anew, or cut off, after a run published its head halts reconciling and closes the gate', async () => {
  await withReserve(async (reserve) => {
    await reserve.credit();
    const run = await reserve.open(new AbortController().signal).once();
    expect(run.ledger_head).toHaveLength(32);
    const expectHalted = async (why: RegExp): Promise<void> => {
      const { working, stop } = start(reserve, new NewestRun(), 86_400_000);
      await expect.poll(() => working.problem?.message, { interval: 20 }).toMatch(why);
      expect(working.mintingAllowed()).toBe(working.problem?.message);
      await stop();
    };
    const { codec, kafka, names } = reserve;
    await rewriteTopic(kafka, names.ledger, (records) =>
      records.map(({ value, ...record }, at) => ({
        ...record,
        value: at === 0 ? codec.encode(Object.assign(codec.decode(value), { minimum: 1n })) : value,
      })),
    );
    await expectHalted(/^reconciling halted: .* published [0-9a-f]{64} .* it is [0-9a-f]{64}/);
    await rewriteTopic(kafka, names.ledger, (records) => records.slice(0, -1));
    await expectHalted(/^reconciling halted: .*the log ends at offset 2, below the 3/);
  });
});

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain } from '../../../../projections/chain/chain.ts';
import { isChainEvent, type ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../../schemas/topics.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../../../services/runtime/kafka/topics.ts';
import { ChainNode } from '../../../../services/runtime/clt-node.ts';
import { Follower, toEntries } from '../../../../services/chain-ingester/follower.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { readLogRange } from '../../../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../../../services/runtime/kafka/ends.ts';
import type { LogRecord } from '../../../../services/runtime/kafka/record.ts';
import {
  deleteRecordsBefore,
  testKafka,
  withRawAdmin,
  type TestKafka,
} from '../../../support/kafka.ts';
import { ALWAYS_HELD } from '../../../../services/runtime/kafka/lease.ts';
import { figureOf } from '../../../faults/processes.ts';
import { ScriptedNode } from '../../../support/scripted-node.ts';
import { startOwnKafka } from '../../../support/own-kafka.ts';
import type { ServiceHandle, Stack } from '../../../support/stack.ts';
import { openCodec } from '../../../support/codec.ts';

const log = openLog({ service: 'test', level: 'silent' });

let stack: Stack;
let kafka: TestKafka;
let codec: Codec;
let node: ScriptedNode;
let nodeUrl: string;
const running: ServiceHandle[] = [];
const closing: (() => Promise<void>)[] = [];
/** the log as it was last read */
let seen: { readonly high: bigint; readonly records: LogRecord[] };

beforeAll(async () => {
  stack = await startOwnKafka();
  kafka = testKafka(stack.addresses);
  codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
});

afterAll(() => stack?.stop());

afterEach(async () => {
  await Promise.all([
    ...running.splice(0).map((service) => service.kill()),
    ...closing.splice(0).map((close) => close()),
  ]);
  await node.close();
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] }));
  await expect
    .poll(() => withRawAdmin(kafka, (admin) => admin.listTopics()))
    .not.toContain(CHAIN_BLOCKS.name);
});

async function begin(blocks: number): Promise<void> {
  seen = { high: 0n, records: [] };
  node = new ScriptedNode();
  nodeUrl = await node.listen();
  node.grow(blocks);
}

async function ingester(extra: Record<string, string> = {}): Promise<ServiceHandle> {
  const service = await stack.spawnService('chain-ingester', { APP_NODE_URL: nodeUrl, ...extra });
  running.push(service);
  return service;
}

/** Reads what is new in the log: it is asked again and again, and nobody rewrites it. */
async function records(): Promise<readonly LogRecord[]> {
  const { high } = await readLogEnds(kafka, CHAIN_BLOCKS.name, 0);
  const read = [...seen.records];
  await readLogRange(kafka, CHAIN_BLOCKS.name, 0, seen.high, high, (each) => read.push(each));
  seen = { high, records: read };
  return read;
}

async function events(): Promise<ChainEvent[]> {
  const read = await records();
  await codec.learn(read.map(({ value }) => value));
  return read.map(({ value, headers }) => codec.decode(value, headers)).filter(isChainEvent);
}

/** The chain that the log tells; every event of it must continue it. */
function told(log_events: readonly ChainEvent[]): {
  readonly hashes: string[];
  readonly finalized: number;
} {
  let chain: Chain = EMPTY_CHAIN;
  const hashes: string[] = [];
  for (const event of log_events) {
    const judged = evolve(chain, event, BigInt(event.sequence));
    if (judged.verdict !== 'applied')
      throw new Error(`${event.type} ${event.sequence} is ${judged.verdict}`);
    chain = judged.chain;
    if (event.type === 'BlockAppended') hashes.push(event.hash.toString('hex'));
    if (event.type === 'BlockReverted') hashes.pop();
  }
  return { hashes, finalized: chain.status === 'growing' ? chain.finalized_height : -1 };
}

const ofNode = (): string[] => node.blocks.map(({ hash }) => hash.toString('hex'));

async function untilTold(finalized = node.finalized): Promise<void> {
  await expect.poll(async () => told(await events())).toEqual({ hashes: ofNode(), finalized });
}

test("the node's chain and each new block are appended to the log", async () => {
  await begin(700);
  node.finalized = 650;
  const service = await ingester();
  await untilTold();
  await service.ready();
  node.grow(1);
  await untilTold();
  node.finalized = 690;
  node.grow(3);
  await untilTold();
});

test('records have keys, headers and times for a plain console consumer', async () => {
  await begin(3);
  node.finalized = 1;
  await ingester();
  await untilTold();
  const read = await records();
  const blocks = read.filter(({ headers }) => String(headers['event_type']) === 'BlockAppended');
  expect(blocks.map(({ key }) => String(key))).toEqual(['0', '1', '2']);
  expect(blocks.map(({ timestamp }) => timestamp)).toEqual(
    node.blocks.map(({ timestamp }) => timestamp),
  );
  for (const { headers } of read) {
    expect(String(headers['source'])).toBe('chain-ingester');
    expect(String(headers['trace_id'])).toMatch(/^[0-9a-f]{32}$/);
  }
  expect(new Set(read.map(({ headers }) => String(headers['event_id']))).size).toBe(read.length);
});

test('the height of a node that does not answer is unknown, and not the one that it had last', async () => {
  await begin(3);
  const service = await ingester();
  await untilTold(0);
  const lines = async (): Promise<readonly string[]> =>
    (await (await fetch(`${service.ops_url}/metrics`)).text())
      .split('\n')
      .filter((line) => /^(?:chain_node_height|service_waits_for)\{/.test(line));
  await expect.poll(lines).toEqual([expect.stringMatching(/^chain_node_height\{.* 2$/)]);
  await node.close();
  await expect.poll(lines).toEqual([expect.stringContaining('{dependency="node",')]);
});

test('a block that is dated ahead of the brokers is appended', async () => {
  await begin(2);
  node.dated_ahead_ms = 7_200_000;
  node.grow(1);
  await ingester();
  await untilTold(0);
});

test('a reorganization is appended as reverts and new blocks, at the head and after an absence', async () => {
  await begin(20);
  node.finalized = 5;
  const first = await ingester();
  await untilTold();
  node.reorganise(4, 5);
  await untilTold();
  await first.kill();
  node.reorganise(7, 2);
  await ingester();
  await untilTold();
  const reverts = (await events()).filter(({ type }) => type === 'BlockReverted');
  expect(reverts.length).toBe(11);
});

test('a branch of equal height replaces the former one', async () => {
  await begin(10);
  const service = await ingester();
  await untilTold(0);
  node.reorganise(3, 3);
  await service.kill();
  await ingester();
  await untilTold(0);
});

/** The phases of these processes, in alphabetical order. */
async function phases(of: readonly ServiceHandle[]): Promise<readonly string[]> {
  const answers = await Promise.all(of.map(({ url }) => fetch(`${url}/status`)));
  const statuses: { readonly phase: string }[] = await Promise.all(
    answers.map((answer) => answer.json()),
  );
  return statuses.map(({ phase }) => phase).toSorted();
}

async function holderOf(of: readonly ServiceHandle[]): Promise<readonly ServiceHandle[]> {
  const held = await Promise.all(of.map((each) => figureOf(each, 'lease_held')));
  return of.toSorted((one, other) => (held[of.indexOf(other)] ?? 0) - (held[of.indexOf(one)] ?? 0));
}

test('one of two ingesters works, and the other stands by and takes over when it is killed or frozen', async () => {
  await begin(2_000);
  // longer than a busy machine keeps a process waiting
  const session = { APP_KAFKA_SESSION_MS: '6000' };
  const first = [await ingester(session), await ingester(session)];
  const isTold = (): Promise<void> =>
    expect.poll(async () => (await applied()).hashes.length).toBe(node.blocks.length);
  await isTold();
  for (const each of first) await each.ready();
  await expect.poll(() => phases(first)).toEqual(['following', 'standing_by']);
  const [killed, survivor] = await holderOf(first);
  if (killed === undefined || survivor === undefined) throw new Error('two were started');
  await killed.kill();
  node.grow(50);
  await isTold();
  const second = [survivor, await ingester(session)];
  await expect.poll(() => phases(second)).toEqual(['following', 'standing_by']);
  // who joins takes nothing away
  expect((await holderOf(second))[0]).toBe(survivor);
  node.grow(50);
  await isTold();
  await survivor.kill('SIGSTOP');
  node.grow(50);
  await isTold();
  await survivor.kill('SIGCONT');
  await expect.poll(() => phases(second)).toEqual(['following', 'standing_by']);
  node.grow(50);
  await isTold();
  expect((await applied()).hashes).toEqual(ofNode());
  const { length: written } = await events();
  expect(written - node.blocks.length).toBeLessThan(written / 100);
});

/** As `told`, with what a second writer wrote in vain left out. */
async function applied(): Promise<{ readonly hashes: string[] }> {
  let chain: Chain = EMPTY_CHAIN;
  const effective = (await events()).filter((event, offset) => {
    const judged = evolve(chain, event, BigInt(offset));
    if (judged.verdict === 'broken') throw new Error(judged.reason);
    if (judged.verdict === 'applied') chain = judged.chain;
    return judged.verdict === 'applied';
  });
  return told(effective);
}

test('a writer whose batch lost a race reads the log back, and its next append counts', async () => {
  await begin(3_000);
  node.finalized = 2_980;
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  let lost = 0;
  const [one, other] = [follower(() => lost++), follower(() => lost++)];
  await one.round();
  await other.round();
  // both go on from the same place: the second batch of more than a window of records is in vain
  await one.round();
  await other.round();
  while (one.height < node.height) await one.round();
  expect(lost).toBeGreaterThan(0);
  expect((await applied()).hashes).toEqual(ofNode());
  expect((await events()).length).toBeGreaterThan(node.blocks.length + 64);
});

function follower(onLostRace: () => void): Follower {
  const signal = new AbortController().signal;
  const writer = new KafkaWriter(kafka, { log, signal });
  closing.push(() => writer.close());
  return new Follower({
    kafka,
    codec,
    writer,
    node: new ChainNode(nodeUrl, signal),
    chain_id: 7777,
    log,
    signal,
    lease: ALWAYS_HELD,
    onAppended() {},
    onLostRace,
    onHead() {},
  });
}

test('a node with other final blocks than the log is refused, and nothing is written', async () => {
  await begin(30);
  node.finalized = 25;
  const service = await ingester();
  await untilTold();
  await service.kill();
  const before = await readLogEnds(kafka, CHAIN_BLOCKS.name, 0);
  node.reorganise(10, 12);
  const second = await ingester();
  await expect
    .poll(() => second.log())
    .toMatch(/blocks up to 25 are final.*another chain, or the node was reset/);
  const status = await fetch(`${second.url}/status`);
  expect(await status.json()).toMatchObject({ status: 'halted', phase: 'halted' });
  expect((await fetch(`${second.url}/ready`)).status).toBe(503);
  expect(await readLogEnds(kafka, CHAIN_BLOCKS.name, 0)).toEqual(before);
  await second.kill('SIGTERM');
  expect(await second.waitExit()).toMatchObject({ code: 0 });
});

test('a node of another chain is refused', async () => {
  await begin(3);
  node.chain_id = 1;
  const service = await ingester();
  await expect.poll(() => service.log()).toMatch(/serves chain 1, this service is set to 7777/);
});

test('a record of a foreign writer is noticed, and the log is read again', async () => {
  await begin(5);
  await ingester();
  await untilTold(0);
  const known = await events();
  const writer = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
  const [first] = known;
  if (first === undefined) throw new Error('the log is empty');
  for (const { entries } of toEntries(codec, [first], 1_000_000))
    await writer.append(CHAIN_BLOCKS.name, 0, entries);
  await writer.close();
  node.grow(3);
  await expect.poll(() => applied().then(({ hashes }) => hashes)).toEqual(ofNode());
});

test('a log whose records were deleted halts the ingester, and nothing is written', async () => {
  await begin(5);
  const first = await ingester();
  await untilTold(0);
  const { length } = await events();
  await first.kill();
  await deleteRecordsBefore(kafka, CHAIN_BLOCKS.name, length);
  const second = await ingester();
  await expect
    .poll(async () => await (await fetch(`${second.url}/status`)).json())
    .toMatchObject({
      status: 'halted',
      message: expect.stringMatching(
        /chain\.blocks begins at offset \d+, records 0 to \d+ were deleted: restore them/,
      ) as unknown,
    });
  expect((await readLogEnds(kafka, CHAIN_BLOCKS.name, 0)).high).toBe(BigInt(length));
});

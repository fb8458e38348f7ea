import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../../../../schemas/topics.ts';
import { toEntries as chainEntries } from '../../../../../services/chain-ingester/follower.ts';
import { tail, type TailArguments } from '../../../../../services/ops/tail/tail.ts';
import { toEntries as ledgerEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { openCodec } from '../../../../support/codec.ts';
import { appendAll, freshTopic, testKafka } from '../../../../support/kafka.ts';
import { MintLedger, USD } from '../../../../support/mint-ledger.ts';
import { startOps } from '../../../../services/ops/operator.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const folder = mkdtempSync(join(tmpdir(), `clt-ops-effective-${randomUUID()}`));
const stackFile = join(folder, 'stack.json');

beforeAll(() => writeFileSync(stackFile, JSON.stringify(stack)));
afterAll(() => rmSync(folder, { recursive: true }));

async function shown(topic: string, change: Partial<TailArguments> = {}) {
  let text = '';
  const write = (piece: string): Promise<boolean> => {
    text += piece;
    return Promise.resolve(true);
  };
  const none = {
    format: undefined,
    from: undefined,
    last: undefined,
    to: undefined,
    limit: undefined,
  };
  const all = { ...none, where: undefined, partition: [], key: [], type: [], header: [] };
  const ended = { topic, stack: stackFile, json: true, 'no-follow': true, effective: true };
  const code = await tail({ ...all, ...ended, ...change }, write);
  expect(code).toBe(0);
  return parsed(text);
}

interface Line {
  readonly offset: string;
  readonly type: string;
  readonly value: { readonly height: number; readonly hash: string };
}

function parsed(text: string): readonly Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}

test('the shown blocks are those that stand after reorganisations, each once', async () => {
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const topic = await freshTopic(kafka);
  const events = [...chainEvents({ seed: 7, blocks: 120, reorg_probability: 0.3 })];
  const standing: string[] = [];
  for (const event of events) {
    if (event.type === 'BlockReverted') standing.pop();
    if (event.type === 'BlockAppended') standing.push(`0x${event.hash.toString('hex')}`);
  }
  const entries = [...chainEntries(codec, events, 1e6)].flatMap((part) => part.entries);
  // the last records once more: a repetition that counts for nothing
  await appendAll(kafka, topic, [...entries, ...entries.slice(-9)]);
  const found = await shown(topic, { type: ['BlockAppended'] });
  expect(events.filter(({ type }) => type === 'BlockAppended').length).toBeGreaterThan(
    standing.length,
  );
  expect(found.map(({ value }) => value.hash)).toEqual(standing);
  expect((await shown(topic)).map(({ type }) => type)).not.toContain('BlockReverted');
  // a revert behind the range counts too
  const to = events.findIndex(({ type }) => type === 'BlockReverted');
  const before = await shown(topic, { type: ['BlockAppended'], to: String(to) });
  expect(before.map(({ value }) => value.hash)).toEqual(standing.slice(0, before.length));
  expect(before.length).toBeLessThan(
    events.slice(0, to).filter(({ type }) => type === 'BlockAppended').length,
  );
});

test('a block that is reverted after it was shown is followed by its revert', async () => {
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const topic = await freshTopic(kafka);
  const events = [...chainEvents({ seed: 7, blocks: 120, reorg_probability: 0.3 })];
  const entries = [...chainEntries(codec, events, 1e6)].flatMap((part) => part.entries);
  const at = events.findIndex(({ type }) => type === 'BlockReverted');
  await appendAll(kafka, topic, entries.slice(0, at));
  const running = startOps('tail', topic, '--effective', '--json', '--stack', stackFile);
  await expect.poll(() => running.printed().split('\n').length - 1).toBe(at);
  await appendAll(kafka, topic, entries.slice(at, at + 1));
  await expect.poll(() => running.printed().split('\n').length - 1).toBe(at + 1);
  running.process.kill('SIGINT');
  expect(await running.ended).toBe(0);
  expect(parsed(running.printed()).at(-1)?.type).toBe('BlockReverted');
});

test('a repeated batch of the ledger has no effect', async () => {
  const codec = await openCodec(stack.registry_url, [TREASURY_LEDGER]);
  const topic = await freshTopic(kafka);
  const made = new MintLedger();
  made.setPolicy();
  made.deposit(USD);
  const entries = ledgerEntries(codec, made.log);
  await appendAll(kafka, topic, [...entries, ...entries]);
  expect((await shown(topic)).map(({ offset }) => Number(offset))).toEqual([...entries.keys()]);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { TREASURY_LEDGER } from '../../../../../schemas/topics.ts';
import type { Codec } from '../../../../../services/runtime/kafka/codec.ts';
import type { LogEntry } from '../../../../../services/runtime/kafka/record.ts';
import { toEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import {
  appendAll,
  deleteRecordsBefore,
  freshTopic,
  testKafka,
} from '../../../../support/kafka.ts';
import { BEGIN, MintLedger, USD } from '../../../../support/mint-ledger.ts';
import { tail, type TailArguments } from '../../../../../services/ops/tail/tail.ts';
import { Misuse } from '../../../../../services/ops/usage.ts';
import { ops, opsHere, opsInShell, startOps } from '../../../../services/ops/operator.ts';
import { openCodec } from '../../../../support/codec.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const folder = mkdtempSync(join(tmpdir(), 'clt-ops-tail-'));
const stackFile = join(folder, 'stack.json');
const made = new MintLedger();
made.setPolicy();
const small = made.deposit(USD / 2n);
const large = made.deposit(8n * USD, BEGIN + 60_000);
const POISON: LogEntry = {
  key: 'k',
  value: Buffer.from('{"no":"Avro"}'),
  headers: { event_type: 'Nothing' },
  timestamp: BEGIN + 120_000,
};

let codec: Codec;
/** partition 0: the ledger, then a record that nobody can read; partition 1: the ledger */
let topic: string;

/** The output of a tail in this process. */
async function printed(args: Partial<TailArguments>): Promise<string> {
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
  const all = {
    ...none,
    effective: undefined,
    where: undefined,
    partition: [],
    key: [],
    type: [],
    header: [],
  };
  const ended = { topic, stack: stackFile, json: undefined, 'no-follow': true };
  expect(await tail({ ...all, ...ended, ...args }, write)).toBe(0);
  return text;
}

interface Line {
  readonly partition: number;
  readonly offset: string;
  readonly type: string | null;
  readonly value: Readonly<Record<string, unknown>> | null;
}

function parsed(text: string): readonly Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}

async function lines(args: Partial<TailArguments>): Promise<readonly Line[]> {
  return parsed(await printed({ json: true, ...args }));
}

function places(found: readonly Line[]): readonly string[] {
  return found.map(({ partition, offset }) => `${partition}@${offset}`).toSorted();
}

beforeAll(async () => {
  writeFileSync(stackFile, JSON.stringify(stack));
  codec = await openCodec(stack.registry_url, [TREASURY_LEDGER]);
  topic = await freshTopic(kafka, { partitions: 2 });
  await appendAll(kafka, topic, [...toEntries(codec, made.log), POISON], 0);
  await appendAll(kafka, topic, toEntries(codec, made.log), 1);
});

afterAll(() => rmSync(folder, { recursive: true }));

test('every record is shown once, in the order of its partition, with key, headers and decoded value', async () => {
  const { code, stdout, stderr } = await ops(
    'tail',
    topic,
    '--json',
    '--no-follow',
    '--stack',
    stackFile,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const found = parsed(stdout);
  expect(places(found)).toEqual(['0@0', '0@1', '0@2', '0@3', '0@4', '1@0', '1@1', '1@2', '1@3']);
  for (const partition of [0, 1])
    expect(
      found.filter((line) => line.partition === partition).map(({ offset }) => offset),
    ).toEqual(partition === 0 ? ['0', '1', '2', '3', '4'] : ['0', '1', '2', '3']);
  const confirmed = found.find((line) => line.partition === 0 && line.offset === '1');
  expect(confirmed).toMatchObject({
    topic,
    time: new Date(BEGIN).toISOString(),
    key: small,
    headers: {
      event_type: 'DepositConfirmed',
      source: 'treasury',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    },
    type: 'DepositConfirmed',
    schema_id: expect.any(Number),
    value: {
      deposit_id: small,
      gross: '2500000',
      credit: '500000',
      tx_id: `00000001${'0'.repeat(56)}`,
      deposit_address: expect.stringMatching(/^T[1-9A-Za-z]{33}$/),
      clt_address: expect.stringMatching(/^0x[0-9a-f]{40}$/),
      decided_at: new Date(BEGIN).toISOString(),
    },
  });
  expect(found.find(({ type }) => type === null)).toMatchObject({
    offset: '4',
    key: 'k',
    value: null,
    error: 'the value does not begin as Avro with a schema id',
    raw: `0x${POISON.value.toString('hex')}`,
  });
});

test('records are filtered by partition, key, type, header, expression, offset, time and number', async () => {
  const chosen = async (args: Partial<TailArguments>): Promise<readonly string[]> =>
    places(await lines(args));
  expect(await chosen({ partition: ['1'], key: [small] })).toEqual(['1@1', '1@2']);
  expect(await chosen({ type: ['DepositConfirmed', 'PolicySet'], partition: ['0'] })).toEqual([
    '0@0',
    '0@1',
    '0@3',
  ]);
  expect(await chosen({ header: ['event_type=Nothing'] })).toEqual(['0@4']);
  const where = `deposit_id = ${large} and credit >= 8000000`;
  expect(await chosen({ where })).toEqual(['0@3', '1@3']);
  expect(await chosen({ from: '1', to: '3' })).toEqual(['0@1', '0@2', '1@1', '1@2']);
  expect(await chosen({ last: '1' })).toEqual(['0@4', '1@3']);
  const time = new Date(BEGIN + 1).toISOString();
  expect(await chosen({ from: time })).toEqual(['0@3', '0@4', '1@3']);
  expect(await chosen({ to: time, partition: ['1'] })).toEqual(['1@0', '1@1', '1@2']);
  expect(await chosen({ from: 'end' })).toEqual([]);
  expect(await lines({ limit: '2' })).toHaveLength(2);
});

test('a record as text is its position, its headers and a line for each field', async () => {
  const text = await printed({ partition: ['0'], from: '1', to: '2' });
  expect(text).toMatch(
    new RegExp(
      `^${topic}/0@1  ${new Date(BEGIN).toISOString()}  DepositConfirmed  key ${small}\n    event_id=`,
    ),
  );
  expect(text).toMatch(/^ {4}credit {13}0\.50$/m);
  expect(await printed({ last: '1', partition: ['0'] })).toContain(
    'not readable: the value does not begin as Avro',
  );
});

test('appended records are followed until SIGINT', async () => {
  const own = await freshTopic(kafka);
  const running = startOps('tail', own, '--json', '--stack', stackFile);
  onTestFinished(() => void running.process.kill('SIGKILL'));
  for (const [at, entry] of toEntries(codec, made.log).slice(0, 3).entries()) {
    await appendAll(kafka, own, [entry]);
    await expect.poll(() => running.printed().split('\n').length - 1).toBe(at + 1);
  }
  running.process.kill('SIGINT');
  expect(await running.ended).toBe(0);
});

test('the end of the reader of its pipe ends it, without another record', async () => {
  const { code, stdout } = await opsInShell(
    ['tail', topic, '--json', '--stack', stackFile, '--partition', '1'],
    '| head -n 1',
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ partition: 1, offset: '0' });
});

test('a topic that has lost its beginning is shown from where it begins now', async () => {
  const own = await freshTopic(kafka);
  await appendAll(kafka, own, toEntries(codec, made.log));
  await deleteRecordsBefore(kafka, own, 2);
  expect((await lines({ topic: own })).map(({ offset }) => offset)).toEqual(['2', '3']);
});

test('a partition that does not exist is refused', async () => {
  const refused = printed({ partition: ['2'] });
  await expect(refused).rejects.toThrow(new Misuse(`${topic} has partitions 0 to 1, no 2`));
});

test('an unknown topic is refused with a suggestion; a field that no record has is named', async () => {
  const absent = await opsHere(['tail', `${topic}x`, '--stack', stackFile]);
  const where = ['--no-follow', '--where', 'amuont > 5', '--stack', stackFile];
  const misspelt = await opsHere(['tail', topic, ...where]);
  expect(absent).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`there is no topic ${topic}x, did you mean ${topic}?`),
  });
  expect(misspelt).toEqual({
    code: 0,
    stdout: '',
    stderr: 'none of 9 records has a field amuont\n',
  });
});

test('a type that no record can have and an offset behind the end are refused', async () => {
  await expect(printed({ type: ['MintIntend'] })).rejects.toThrow(
    `${topic} has no events of type MintIntend, did you mean MintIntended?`,
  );
  await expect(printed({ from: '6' })).rejects.toThrow(
    new Misuse(`--from 6 is behind the end of ${topic}: partition 0 at 5, partition 1 at 4`),
  );
});

test('a range without a matching record says so', async () => {
  const key = ['--no-follow', '--key', 'nobody', '--stack', stackFile];
  const found = await opsHere(['tail', topic, ...key]);
  expect(found).toEqual({ code: 0, stdout: '', stderr: 'no record matched: 9 were read\n' });
});

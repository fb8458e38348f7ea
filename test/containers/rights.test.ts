/** A thief in the containers of gateways, at Kafka. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { ALL_TOPICS } from '../../infra/kafka/topics.ts';
import { openComposed, type Composed } from './composed.ts';

const PROGRAM = readFileSync(new URL('attempts.ts', import.meta.url), 'utf8');
const NAMES = ALL_TOPICS.map(({ name }) => name);

/** A topic that an account may not even see is unknown to kafkajs. */
const REFUSED = expect.stringMatching(/^(?:TOPIC_AUTHORIZATION_FAILED|KafkaJSNonRetriableError)$/);

let opened: Composed | { readonly missing: string };

beforeAll(async () => {
  opened = await openComposed();
  if ('missing' in opened) return;
  await opened.settle('settle-kafka');
});
afterAll(async () => {
  if (opened !== undefined && !('missing' in opened)) await opened.close();
});

/** How each attempt of a thief in a container ended. */
async function attempts(
  { skip }: TestContext,
  container: string,
  account: 'own' | 'none',
  attempted: 'append' | 'look',
  broker = 'kafka:9092',
): Promise<Readonly<Record<string, string>>> {
  if ('missing' in opened) return skip(opened.missing);
  const program = ['--input-type=module-typescript', '--eval', PROGRAM];
  const args = [...program, account, broker, attempted, ...NAMES];
  const { stdout, stderr } = await opened.node(container, ...args);
  expect(stdout, stderr).toMatch(/^\{.*\}$/);
  return Object(JSON.parse(stdout));
}

/** The same end of the attempt at each topic; rights and topics are the administrator's to make. */
function each(end: unknown): Record<string, unknown> {
  return {
    ...Object.fromEntries(NAMES.map((name) => [name, end])),
    'a topic': 'TOPIC_AUTHORIZATION_FAILED',
    'a right': 'CLUSTER_AUTHORIZATION_FAILED',
  };
}

test('the account of the explorer-gateway appends nowhere', async (context) => {
  expect(await attempts(context, 'explorer-gateway', 'own', 'append')).toEqual(each(REFUSED));
});

test('the account of the deposit-gateway appends to its own topics alone', async (context) => {
  expect(await attempts(context, 'deposit-gateway', 'own', 'append')).toEqual({
    ...each(REFUSED),
    'deposit.addresses': 'done',
    'schema.ids': 'done',
  });
});

test('a container without an account is heard by no listener of Kafka', async (context) => {
  for (const broker of ['kafka:9092', 'kafka:9093', 'kafka:9094']) {
    const ended = await attempts(context, 'explorer-gateway', 'none', 'append', broker);
    for (const [attempt, end] of Object.entries(ended))
      expect(end, `${broker}, ${attempt}`).toMatch(/^KafkaJSConnection/);
  }
});

test('the treasury then sees the two records that the deposit-gateway may append', async (context) => {
  expect(await attempts(context, 'treasury', 'own', 'look')).toEqual({
    ...each('0'),
    'deposit.addresses': '1',
    'schema.ids': '1',
  });
});

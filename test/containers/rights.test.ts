/** A thief in the containers of gateways, at Kafka. */
import { readFileSync } from 'node:fs';
import { expect, test, type TestContext } from 'vitest';
import { ALL_TOPICS } from '../../infra/kafka/topics.ts';
import { composed } from './composed.ts';

const PROGRAM = readFileSync(new URL('attempts.ts', import.meta.url), 'utf8');
const NAMES = ALL_TOPICS.map(({ name }) => name);

/** A topic that an account may not even see is unknown to kafkajs. */
const REFUSED = expect.stringMatching(/^(?:TOPIC_AUTHORIZATION_FAILED|KafkaJSNonRetriableError)$/);

/** How each attempt of a thief in a container ended; `spared` are topics that it leaves alone. */
async function attempts(
  context: TestContext,
  container: string,
  account: 'own' | 'none',
  { broker = 'kafka:9092', spared = [] }: { broker?: string; spared?: readonly string[] } = {},
): Promise<Readonly<Record<string, string>>> {
  const program = ['--input-type=module-typescript', '--eval', PROGRAM];
  const topics = NAMES.filter((name) => !spared.includes(name));
  const system = composed(context);
  const { stdout, stderr } = await system.node(container, ...program, account, broker, ...topics);
  expect(stdout, stderr).toMatch(/^\{.*\}$/);
  return Object(JSON.parse(stdout));
}

/** The same end of the attempt at each topic; rights and topics are the administrator's to make. */
function each(end: unknown, spared: readonly string[] = []): Record<string, unknown> {
  const names = NAMES.filter((name) => !spared.includes(name));
  return {
    ...Object.fromEntries(names.map((name) => [name, end])),
    'a topic': 'TOPIC_AUTHORIZATION_FAILED',
    'a right': 'CLUSTER_AUTHORIZATION_FAILED',
  };
}

test('the account of the explorer-gateway appends nowhere', async (context) => {
  expect(await attempts(context, 'explorer-gateway', 'own')).toEqual(each(REFUSED));
});

test('the account of the deposit-gateway appends to no topic of another', async (context) => {
  // what it may append would halt the readers of this system
  const spared = ['deposit.addresses', 'schema.ids'];
  expect(await attempts(context, 'deposit-gateway', 'own', { spared })).toEqual(
    each(REFUSED, spared),
  );
});

test('a container without an account is heard by no listener of Kafka', async (context) => {
  for (const broker of ['kafka:9092', 'kafka:9093', 'kafka:9094']) {
    const ended = await attempts(context, 'explorer-gateway', 'none', { broker });
    for (const [attempt, end] of Object.entries(ended))
      expect(end, `${broker}, ${attempt}`).toMatch(/^KafkaJSConnection/);
  }
});

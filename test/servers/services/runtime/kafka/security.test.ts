/** Clients that a real broker knows by a certificate or a token, with the settings of a service. */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { CHAIN_BLOCKS, TREASURY_LEDGER, type Topic } from '../../../../../schemas/topics.ts';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import type { Appender, Fetcher } from '../../../../../services/runtime/kafka/port.ts';
import { readConfig } from '../../../../../services/runtime/process/config.ts';
import { KAFKA_SETTINGS } from '../../../../../services/runtime/process/kafka-settings.ts';
import { silentLog } from '../../../../support/kafka.ts';
import {
  PASSWORD,
  startSecuredBroker,
  type SecuredBroker,
} from '../../../../support/secured-broker.ts';

const SERVICE = 'treasury';
const STRANGER = 'stranger';

let broker: SecuredBroker;
beforeAll(async () => {
  broker = await startSecuredBroker([SERVICE, STRANGER]);
});
afterAll(async () => await broker.stop());
beforeEach(() => {
  Object.assign(broker.tokens, { life_s: 3_600, forge: false });
});

type Variables = Readonly<Record<string, string>>;

function withCertificate(name = SERVICE): Variables {
  const { cert, key } = broker.certificateOf(name);
  return {
    APP_KAFKA_BROKERS: broker.with_certificate,
    APP_KAFKA_TLS_CA: broker.authority,
    APP_KAFKA_TLS_CERT: cert,
    APP_KAFKA_TLS_KEY: key,
  };
}

function withToken(name = SERVICE, password = PASSWORD): Variables {
  return {
    APP_KAFKA_BROKERS: broker.with_token,
    APP_KAFKA_TLS_CA: broker.authority,
    APP_KAFKA_SASL: 'oauthbearer',
    APP_KAFKA_USERNAME: name,
    APP_KAFKA_PASSWORD: password,
    APP_KAFKA_OAUTH_URL: broker.tokens.url,
  };
}

function open(variables: Variables): { readonly appender: Appender; readonly fetcher: Fetcher } {
  const settings = readConfig(variables, KAFKA_SETTINGS);
  const kafka = openKafka(settings, 'test', silentLog());
  const [appender, fetcher] = [kafka.appender(), kafka.fetcher()];
  onTestFinished(async () => {
    await Promise.all([appender.disconnect(), fetcher.disconnect()]);
  });
  return { appender, fetcher };
}

async function append(appender: Appender, { name }: Topic, text: string): Promise<bigint> {
  await appender.connect();
  const value = Buffer.from(text);
  const entry = { key: 'a', value, headers: {}, timestamp: Date.now() };
  return (await appender.append(name, 0, [entry])).offset;
}

async function read(fetcher: Fetcher, { name: topic }: Topic, offset: bigint): Promise<string[]> {
  const topic_id = await fetcher.topicId(topic);
  const position = { topic, topic_id, partition: 0, offset, bytes_max: 10_000, wait_ms: 1_000 };
  const batches = await fetcher.fetch(position);
  return batches.flatMap(({ records }) => records).map(({ value }) => String(value));
}

test.each([
  ['certificate', withCertificate],
  ['token', withToken],
] as const)('a service is known by its %s, and gets its rights alone', async (way, variables) => {
  const { appender, fetcher } = open(variables());
  const offset = await append(appender, TREASURY_LEDGER, way);
  expect(await read(fetcher, TREASURY_LEDGER, offset)).toEqual([way]);
  await expect(append(appender, CHAIN_BLOCKS, way)).rejects.toThrow(/not authorized/i);
  const other = open(variables(STRANGER));
  await expect(append(other.appender, TREASURY_LEDGER, way)).rejects.toThrow(
    'Cluster authorization failed',
  );
});

test('a client without a certificate, or without trust in that of the broker, gets nowhere', async () => {
  const { APP_KAFKA_TLS_CERT: _cert, APP_KAFKA_TLS_KEY: _key, ...without } = withCertificate();
  await expect(append(open(without).appender, TREASURY_LEDGER, 'x')).rejects.toThrow(
    /certificate|closed|disconnected/i,
  );
  const { APP_KAFKA_TLS_CA: _authority, ...distrusting } = withCertificate();
  await expect(append(open(distrusting).appender, TREASURY_LEDGER, 'x')).rejects.toThrow(
    /certificate/,
  );
});

test('a wrong password and a forged token are refused in words', async () => {
  await expect(
    append(open(withToken(SERVICE, 'wrong')).appender, TREASURY_LEDGER, 'x'),
  ).rejects.toThrow(`${broker.tokens.url} gave no token for ${SERVICE}: it answered 401`);
  broker.tokens.forge = true;
  await expect(append(open(withToken()).appender, TREASURY_LEDGER, 'x')).rejects.toThrow(
    /the Kafka brokers refuse the token of treasury: .*invalid_token/,
  );
});

test('appends and reads go on when tokens and sessions end', async () => {
  broker.tokens.life_s = 6;
  const { appender, fetcher } = open(withToken());
  let [last, offset] = [0, await append(appender, TREASURY_LEDGER, '0')];
  const { given } = broker.tokens;
  const appended = async (): Promise<number> => {
    expect(await read(fetcher, TREASURY_LEDGER, offset)).toEqual([String(last)]);
    offset = await append(appender, TREASURY_LEDGER, String(++last));
    return broker.tokens.given;
  };
  await expect.poll(appended).toBeGreaterThan(given);
});

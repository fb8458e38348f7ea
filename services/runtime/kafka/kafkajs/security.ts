/** TLS and the account, as kafkajs takes them. */
import type { KafkaConfig, Mechanism, SASLOptions } from 'kafkajs';
import { Fault, messageOf } from '../../process/errors.ts';
import type { KafkaSettings } from '../port.ts';

const ANSWER_MS = 5_000;
/** The part of a token's life after which another one is asked for. */
const REFRESH_AT = 0.8;
/** Where the endpoint does not say how long a token lives. */
const LIFE_S = 60;
/**
 * The end of a session in which it is renewed. Kafka refuses to renew one twice in a second, so it
 * has to be later than the next token. The default of kafkajs is 10 s, too long for a short life.
 */
const RENEW_MS = 1_000;

export function securityOf(settings: KafkaSettings): Pick<KafkaConfig, 'ssl' | 'sasl'> {
  const {
    kafka_tls: kafkaTls,
    kafka_tls_ca: kafkaTlsCa,
    kafka_tls_cert: kafkaTlsCert,
    kafka_tls_key: kafkaTlsKey,
  } = settings;
  const files = Object.entries({ ca: kafkaTlsCa, cert: kafkaTlsCert, key: kafkaTlsKey }).filter(
    ([, pem]) => pem !== undefined,
  );
  const sasl = saslOf(settings);
  return {
    ...(kafkaTls === 'on' || files.length > 0 ? { ssl: Object.fromEntries(files) } : {}),
    ...(sasl === undefined ? {} : { sasl, reauthenticationThreshold: RENEW_MS }),
  };
}

function saslOf(settings: KafkaSettings): KafkaConfig['sasl'] {
  const { kafka_sasl: kafkaSasl, kafka_username = '', kafka_password = '' } = settings;
  if (kafkaSasl === undefined) return undefined;
  if (kafkaSasl === 'oauthbearer')
    return bearer(
      kafka_username,
      tokenSource(settings, () => performance.now()),
    );
  const account: SASLOptions = {
    mechanism: kafkaSasl,
    username: kafka_username,
    password: kafka_password,
  };
  return account;
}

/**
 * OAUTHBEARER. That of kafkajs takes a refusal for success, after which the broker closes the
 * connection without a word.
 * Source: RFC 7628, section 3
 */
function bearer(name: string, token: ReturnType<typeof tokenSource>): Mechanism {
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      async authenticate() {
        const { value } = await token();
        const refusal = await saslAuthenticate({
          request: { encode: () => withLength(`n,,\u0001auth=Bearer ${value}\u0001\u0001`) },
          response: { decode: (answer) => answer.subarray(4), parse: String },
        });
        if (typeof refusal !== 'string' || refusal === '') return;
        throw new Fault(
          'kafka',
          `the Kafka brokers refuse the token of ${name}: ${refusal}; their key set, issuer and audience have to be those of APP_KAFKA_OAUTH_URL`,
          { retry: true },
        );
      },
    }),
  };
}

function withLength(message: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(Buffer.byteLength(message));
  return Buffer.concat([length, Buffer.from(message)]);
}

/**
 * A token for the client's credentials, asked for again before it expires. `now` in ms. Throws a
 * fault with retry.
 * Source: RFC 6749, section 4.4
 */
export function tokenSource(
  settings: Pick<
    KafkaSettings,
    'kafka_username' | 'kafka_password' | 'kafka_oauth_url' | 'kafka_oauth_scope'
  >,
  now: () => number,
): () => Promise<{ readonly value: string }> {
  const { kafka_oauth_url: kafkaOauthUrl = '', kafka_oauth_scope: kafkaOauthScope } = settings;
  const { kafka_username: kafkaUsername = '', kafka_password: kafkaPassword = '' } = settings;
  const account = [kafkaUsername, kafkaPassword].map((each) => encodeURIComponent(each)).join(':');
  const ask = async (): Promise<{ value: string; refresh_at: number }> => {
    const askedAt = now();
    const response = await fetch(kafkaOauthUrl, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(account).toString('base64')}` },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        ...(kafkaOauthScope === undefined ? {} : { scope: kafkaOauthScope }),
      }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const body: unknown = await response.json();
    const value: unknown = Reflect.get(Object(body), 'access_token');
    const life = Number(Reflect.get(Object(body), 'expires_in') ?? LIFE_S);
    if (typeof value !== 'string') throw new Error('its answer has no access_token');
    return { value, refresh_at: askedAt + life * 1_000 * REFRESH_AT };
  };
  // connections to several brokers ask at the same time
  let token = Promise.resolve({ value: '', refresh_at: Number.NEGATIVE_INFINITY });
  return async () => {
    const known = token;
    try {
      if ((await known).refresh_at > now()) return await known;
    } catch {
      // the failure was thrown to those who waited for it
    }
    if (token === known) token = ask();
    try {
      return await token;
    } catch (cause) {
      throw new Fault(
        'kafka',
        `${kafkaOauthUrl} gave no token for ${kafkaUsername}: ${messageOf(cause)}; correct APP_KAFKA_OAUTH_URL, APP_KAFKA_USERNAME or APP_KAFKA_PASSWORD`,
        { retry: true, cause },
      );
    }
  };
}

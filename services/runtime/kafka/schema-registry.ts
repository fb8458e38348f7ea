/**
 * The client of schema registries, by Confluent's API: every request to one is sent here.
 * `@kafkajs/confluent-schema-registry` reads and registers schemas; its failures are a status and a
 * text. `ask` sends what that library has no call for, and finds the reason of a failure.
 */
import {
  COMPATIBILITY,
  SchemaRegistry as Client,
  SchemaType,
} from '@kafkajs/confluent-schema-registry';
import avro from 'avsc';
import type { Pin } from '../../../schemas/schema.ids/pin.ts';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';
import { aborted } from '../process/retry.ts';
import { AVRO_OPTIONS } from './avro-types.ts';

const ANSWER_MS = 5_000;
const REGISTER_TRIES = 10;
const COMPATIBLE = COMPATIBILITY.FULL_TRANSITIVE;
/** A registry says so to the second one of two services. */
const EXISTS = /already exists/i;
const JSON_TYPE = 'application/vnd.schemaregistry.v1+json';

type Middleware = NonNullable<ConstructorParameters<typeof Client>[0]['middlewares']>[number];

export interface RegistrySettings {
  /** of Confluent's API */
  readonly registry_url: string;
  /** for basic authentication */
  readonly registry_username?: string | undefined;
  readonly registry_password?: string | undefined;
  /** of the subjects at the registry; everything else knows them without it */
  readonly kafka_prefix?: string;
}

interface Options {
  /** of the types of schemas */
  readonly avro?: typeof AVRO_OPTIONS | Partial<avro.ForSchemaOptions>;
  /** default 5,000 */
  readonly answer_ms?: number | undefined;
}

interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer_ms?: number;
}

interface Answer {
  readonly status: number;
  /** an empty object where the body is no JSON */
  readonly body: object;
}

export class SchemaRegistry {
  readonly url: string;
  readonly #prefix: string;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #answerMs: number;
  readonly #client: Client;

  constructor(
    {
      registry_url: registryUrl,
      registry_username: registryUsername = '',
      registry_password: registryPassword = '',
      kafka_prefix: kafkaPrefix = '',
    }: RegistrySettings,
    { avro: options = AVRO_OPTIONS, answer_ms = ANSWER_MS }: Options = {},
  ) {
    this.url = registryUrl.replace(/\/$/, '');
    this.#prefix = kafkaPrefix;
    this.#answerMs = answer_ms;
    const credentials = Buffer.from(`${registryUsername}:${registryPassword}`).toString('base64');
    this.#authorization = registryUsername === '' ? {} : { authorization: `Basic ${credentials}` };
    this.#client = new Client(
      {
        host: this.url,
        ...(registryUsername === ''
          ? {}
          : { auth: { username: registryUsername, password: registryPassword } }),
        // whoever asks retries
        retry: { retries: 0 },
        middlewares: [limitTo(answer_ms, this.url)],
      },
      { [SchemaType.AVRO]: options },
    );
  }

  /** The name of a subject at the registry. */
  wireName(subject: string): string {
    return `${this.#prefix}${subject}`;
  }

  /**
   * The schema of an id: a text where it is not Avro, undefined where the registry has none. An
   * answer that stays the same however long one waits is that of a registry that has none, whatever
   * its words are.
   */
  async schema(id: number): Promise<avro.Type | string | undefined> {
    // a registry that was mended, or lost its data, gives another answer than before
    this.#client.cache.clear();
    let failure: unknown;
    try {
      const schema: unknown = await this.#client.getSchema(id);
      if (schema instanceof avro.Type) return schema;
    } catch (error) {
      if (error instanceof Fault) throw error;
      failure = error;
    }
    // the library gives a failed connection the status of a wrong question, 400
    const answer = await this.ask(`/schemas/ids/${id}`);
    if (mayPass(answer.status)) throw refusal(`schema ${id} was not read from ${this.url}`, answer);
    if (answer.status === 200 && statusOf(failure) !== undefined)
      throw fault(whyNot(this.url, failure, this.#answerMs), true, failure);
    const text: unknown = Reflect.get(answer.body, 'schema');
    if (answer.status === 200 && typeof text === 'string') return text;
    // another server says no to everything
    await this.subjects();
    return undefined;
  }

  /** All versions of a subject, oldest first. */
  async versions(subject: string): Promise<readonly Pin[]> {
    const name = this.wireName(subject);
    const path = `/subjects/${encodeURIComponent(name)}/versions`;
    const numbers = (await this.#find(path, `the versions of ${name}`)) ?? [];
    if (!Array.isArray(numbers)) throw noRegistry('versions');
    const found: Pin[] = [];
    for (const number of numbers) {
      const version = (await this.#find(`${path}/${number}`, `version ${number} of ${name}`)) ?? {};
      found.push({ id: numberOf(version, 'id'), subject, schema: textOf(version, 'schema') });
    }
    return found;
  }

  /** The subjects of the registry that have the prefix. */
  async subjects(): Promise<readonly string[]> {
    const answer = await this.ask('/subjects');
    if (answer.status !== 200) throw refusal(`the subjects were not read from ${this.url}`, answer);
    if (!Array.isArray(answer.body)) throw noRegistry('subjects');
    return answer.body
      .map(String)
      .filter((name) => name.startsWith(this.#prefix))
      .map((name) => name.slice(this.#prefix.length));
  }

  /**
   * The id of a schema, registered where it is new. Of services that register a schema at the same
   * moment some get "already exists": they ask again.
   */
  async register(subject: string, schema: string): Promise<number> {
    const name = this.wireName(subject);
    for (let tries = 1; ; tries++) {
      try {
        const registered: object = await this.#client.register(
          { type: SchemaType.AVRO, schema },
          { subject: name, compatibility: COMPATIBLE },
        );
        return numberOf(registered, 'id');
      } catch (error) {
        const isLast = tries === REGISTER_TRIES;
        // a service was killed before it set it, or has not done so yet
        if (!isLast && messageOf(error).endsWith('!= NONE)')) await this.setCompatibility(subject);
        else if (isLast || !EXISTS.test(messageOf(error)))
          throw await this.#registrationFault(`schema ${name} was not registered`, error);
      }
    }
  }

  async #registrationFault(what: string, error: unknown): Promise<Fault> {
    if (error instanceof Fault) return error;
    const message = messageOf(error);
    const named = `${what} at ${this.url}: ${message}`;
    switch (propertyOf(error, 'name')) {
      case 'ConfluentSchemaRegistryCompatibilityError':
        return fault(
          `${named}; set the subject's compatibility to ${COMPATIBLE} at the registry, and look at who changed it`,
          false,
        );
      case 'ConfluentSchemaRegistryArgumentError':
        return fault(`${named}; correct the schema: it is not Avro`, false);
    }
    const status = statusOf(error);
    if (status === undefined) return noRegistry('compatibility');
    // the library gives a failed connection the status of a wrong question, 400
    if (status === 400) await this.subjects();
    return refusal(`${what} at ${this.url}`, { status, body: { message } });
  }

  async setCompatibility(subject: string): Promise<void> {
    const name = this.wireName(subject);
    for (let tries = 1; ; tries++) {
      const answer = await this.ask(`/config/${encodeURIComponent(name)}`, {
        method: 'PUT',
        body: JSON.stringify({ compatibility: COMPATIBLE }),
      });
      if (answer.status === 200) return;
      if (tries < REGISTER_TRIES && EXISTS.test(complaintOf(answer))) continue;
      throw refusal(`the compatibility of ${name} was not set at ${this.url}`, answer);
    }
  }

  /** A path is below the registry's URL. Throws a fault with retry where nothing answers. */
  async ask(
    path: string | URL,
    { headers, answer_ms: answerMs = this.#answerMs, ...question }: Question = {},
  ): Promise<Answer> {
    const url = path instanceof URL ? path : `${this.url}${path}`;
    try {
      const response = await fetch(url, {
        ...question,
        // the library follows no redirection either
        redirect: 'manual',
        headers: {
          accept: 'application/json, */*',
          'content-type': JSON_TYPE,
          ...headers,
          ...this.#authorization,
        },
        signal: AbortSignal.timeout(answerMs),
      });
      return { status: response.status, body: objectOf(await response.text()) };
    } catch (cause) {
      throw fault(whyNot(this.url, cause, answerMs), true, cause);
    }
  }

  /** Undefined where the registry says that there is none. */
  async #find(path: string, what: string): Promise<object | undefined> {
    const answer = await this.ask(path);
    if (answer.status === 200) return answer.body;
    // a server that is no registry has no such code for an unknown path
    const code: unknown = Reflect.get(answer.body, 'error_code');
    if (answer.status === 404 && String(code).startsWith('404')) return undefined;
    throw refusal(`${what} was not read from ${this.url}`, answer);
  }
}

/**
 * Ends a request of the library, which waits for ever by itself: also one whose body drips, and one
 * whose body is cut off, of which the library hears nothing more.
 */
function limitTo(ms: number, url: string): Middleware {
  return () => {
    const signal = AbortSignal.timeout(ms);
    const late = async (): Promise<never> => {
      await aborted(signal);
      throw fault(whyNot(url, signal.reason, ms), true, signal.reason);
    };
    return {
      // closes the connection
      prepareRequest: async (next) => (await next()).enhance({ signal }),
      response: (next) => Promise.race([next(), late()]),
    };
  };
}

/** An answer's, in an error of the library. */
function statusOf(error: unknown): number | undefined {
  const status = propertyOf(error, 'status');
  return typeof status === 'number' ? status : undefined;
}

/** Whether a later answer to the same question may be another one: 1xx to 3xx, 5xx, and these. */
function mayPass(status: number): boolean {
  const isOfServer = (status > 200 && status < 400) || status >= 500;
  return isOfServer || [401, 403, 407, 408, 421, 425, 429].includes(status);
}

/** OpenSSL's and Node's codes for a certificate that is not believed. */
const CERTIFICATE = /^(?:CERT_|ERR_TLS_CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(?:GET|VERIFY)_)/;

/** `fetch` has its reason in the cause. */
function whyNot(url: string, error: unknown, answer_ms: number): string {
  const reason = propertyOf(error, 'cause') ?? error;
  if (propertyOf(reason, 'name') === 'TimeoutError')
    return `the schema registry at ${url} does not answer: nothing came within ${answer_ms / 1_000} s; start the schema registry or correct APP_REGISTRY_URL; where it is only slow, a command of an operator waits longer with --timeout SECONDS`;
  const code = String(propertyOf(reason, 'code'));
  return CERTIFICATE.test(code)
    ? `the certificate of the schema registry at ${url} is refused: ${messageOf(reason)} (${code}); name the file with the certificate of its authority in NODE_EXTRA_CA_CERTS, renew the certificate, or correct APP_REGISTRY_URL`
    : `the schema registry at ${url} does not answer: ${messageOf(reason)}; start the schema registry or correct APP_REGISTRY_URL`;
}

function objectOf(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function textOf(body: object, name: string): string {
  const value: unknown = Reflect.get(body, name);
  if (typeof value !== 'string') throw noRegistry(name);
  return value;
}

function numberOf(body: object, name: string): number {
  const value: unknown = Reflect.get(body, name);
  if (typeof value !== 'number') throw noRegistry(name);
  return value;
}

function complaintOf({ body }: Answer): string {
  const message: unknown = Reflect.get(body, 'message');
  return typeof message === 'string' ? message : '';
}

function noRegistry(missing: string): Fault {
  return fault(
    `an answer has no ${missing}: correct APP_REGISTRY_URL, it is not a schema registry's`,
    true,
  );
}

/** The fault that an answer stands for. */
export function refusal(what: string, answer: Answer): Fault {
  const { retry, remedy } = EXISTS.test(complaintOf(answer))
    ? { retry: true, remedy: 'another service has just registered it' }
    : remedyOf(answer.status);
  return fault(`${what}: ${answer.status} ${complaintOf(answer)}; ${remedy}`, retry);
}

function remedyOf(status: number): { readonly retry: boolean; readonly remedy: string } {
  switch (status) {
    case 401:
    case 403:
      return {
        retry: true,
        remedy:
          'correct APP_REGISTRY_USERNAME and APP_REGISTRY_PASSWORD, or the rights of that user',
      };
    case 409:
      return {
        retry: false,
        remedy:
          'change the schema so that it and every earlier version read each other (new fields with a default)',
      };
    case 422:
      return { retry: false, remedy: 'correct the schema: the registry does not take it for Avro' };
    default:
      return { retry: true, remedy: 'start the schema registry or correct APP_REGISTRY_URL' };
  }
}

function fault(message: string, retry: boolean, cause?: unknown): Fault {
  return new Fault('schema_registry', message, { retry, cause });
}

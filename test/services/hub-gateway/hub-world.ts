/** A hub in this process over a devnet and read models that advance when the test says so. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { openIdentity } from '../../../infra/devnet/store/identity.ts';
import { readConfig as readDevnetConfig } from '../../../infra/devnet/config.ts';
import { startDevnet } from '../../../infra/devnet/service.ts';
import type { Addresses } from '../../../infra/services/services.ts';
import { decodeCall } from '../../../schemas/function-call.ts';
import { encodeRaw, unsignedDigest } from '../../../schemas/raw-transaction.ts';
import { toHex } from '../../../schemas/address.ts';
import { challengeOf } from '../../../schemas/sign-in.ts';
import { readHubGatewayConfig } from '../../../services/hub-gateway/config.ts';
import { serve } from '../../../services/hub-gateway/service.ts';
import { openLog } from '../../../services/runtime/process/log.ts';
import { Closing } from '../../../services/runtime/process/main.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { VERSION_CHECK_MS } from '../../../services/runtime/read-version.ts';
import { freshDatabase } from '../../support/database.ts';
import { TestDevnet } from '../../support/devnet.ts';
import { PATIENT_READS } from '../../support/stack.ts';
import { SECRET } from '../../support/tokens.ts';
import { until } from '../../support/until.ts';
import type { TestWallet } from '../../support/wallets.ts';
import { argumentItems, readUnsigned, type UnsignedJson } from './unsigned.ts';
import { ReadModels } from './read-models.ts';

export const CHAIN_ID = 7777;

export interface GraphqlAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly data: Readonly<Record<string, unknown>> | null | undefined;
  readonly extensions: unknown;
  readonly errors: readonly {
    readonly message: string;
    readonly extensions?: { readonly code?: string };
  }[];
}

export interface HubWorldOptions {
  /** environment variables of the hub */
  readonly settings?: Readonly<Record<string, string>>;
  readonly redis_url?: string;
  /** clock of the hub, Unix ms */
  readonly now?: () => number;
}

interface RunningHub {
  readonly url: string;
  readonly metrics: Metrics;
  readonly end: () => Promise<void>;
}

const HEARD = 'hub_notifications_total';

export class HubWorld {
  readonly url: string;
  readonly devnet: TestDevnet;
  readonly models: ReadModels;
  /** of the read models, the explorer's too */
  readonly postgres_reader_url: string;
  readonly postgres_writer_url: string;
  /** log lines of the hub at level warn and above */
  readonly lines: readonly string[];
  readonly #start: (port: string) => Promise<RunningHub>;
  readonly #close: () => Promise<void>;
  #hub: RunningHub;

  private constructor(
    parts: Pick<
      HubWorld,
      'devnet' | 'models' | 'postgres_reader_url' | 'postgres_writer_url' | 'lines'
    >,
    hub: RunningHub,
    start: (port: string) => Promise<RunningHub>,
    close: () => Promise<void>,
  ) {
    this.url = hub.url;
    this.#hub = hub;
    this.#start = start;
    this.devnet = parts.devnet;
    this.models = parts.models;
    this.postgres_reader_url = parts.postgres_reader_url;
    this.postgres_writer_url = parts.postgres_writer_url;
    this.lines = parts.lines;
    this.#close = close;
  }

  static async open(
    stack: Addresses,
    { settings = {}, redis_url: redisUrl = stack.redis_url, now }: HubWorldOptions = {},
  ): Promise<HubWorld> {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'hub-devnet-'));
    const devnet = await openDevnet(directory);
    const database = await freshDatabase(stack);
    const models = await ReadModels.open(database.writer_url, stack.redis_url);
    await models.follow(devnet.devnet.node);
    const lines: string[] = [];
    const log = openLog({
      service: 'hub-gateway',
      level: 'warn',
      destination: { write: (line) => void lines.push(line) },
    });
    const start = async (port: string): Promise<RunningHub> => {
      const closing = new Closing();
      const stop = new AbortController();
      const config = readHubGatewayConfig({
        APP_HTTP_PORT: port,
        APP_OPS_PORT: '0',
        APP_NETWORK: 'testnet',
        APP_CHAIN_ID: String(CHAIN_ID),
        APP_POSTGRES_READER_URL: database.reader_url,
        APP_REDIS_URL: redisUrl,
        APP_NODE_URL: devnet.node_url,
        APP_JWT_SECRET: SECRET,
        APP_RATE_PER_SECOND: '0',
        ...PATIENT_READS,
        ...settings,
      });
      const metrics = new Metrics('test');
      const url = await serve({ config, log, metrics, signal: stop.signal, closing }, now);
      const end = async (): Promise<void> => {
        stop.abort();
        await closing.close(
          () => undefined,
          (name, error) => {
            throw new Error(`${name} could not be closed`, { cause: error });
          },
        );
      };
      return { url, metrics, end };
    };
    const { reader_url: readerUrl, writer_url: writerUrl } = database;
    const parts = {
      devnet,
      models,
      postgres_reader_url: readerUrl,
      postgres_writer_url: writerUrl,
      lines,
    };
    return new HubWorld(parts, await start('0'), start, async () => {
      await models.close();
      await devnet.devnet.close();
      fs.rmSync(directory, { recursive: true, force: true });
    });
  }

  get metrics(): Metrics {
    return this.#hub.metrics;
  }

  /** Ends the hub and starts it again at the same port. `meanwhile`: while it is away. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    await this.#hub.end();
    await meanwhile();
    this.#hub = await this.#start(new URL(this.url).port);
  }

  /** A figure of the hub. */
  async figure(name: string): Promise<number> {
    const text = await this.metrics.text();
    return Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)`, 'm').exec(text)?.[1]);
  }

  get socket_url(): string {
    return `${this.url.replace('http', 'ws')}/graphql/ws`;
  }

  /** Posts an operation, with a token if given. */
  ask(query: string, variables: object = {}, token?: string): Promise<GraphqlAnswer> {
    return this.post(
      JSON.stringify({ query, variables }),
      token === undefined ? {} : { authorization: `Bearer ${token}` },
    );
  }

  async post(body: string, headers: Readonly<Record<string, string>> = {}): Promise<GraphqlAnswer> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    return answerOf(response);
  }

  /** `variables`: publicKey, timestamp and signature. */
  generateToken(variables: object): Promise<GraphqlAnswer> {
    const query = `mutation ($publicKey: String!, $timestamp: Int!, $signature: AuthSignatureInput!) {
      generateToken(publicKey: $publicKey, timestamp: $timestamp, signature: $signature) { token expiresAt } }`;
    return this.ask(query, variables);
  }

  /** Signs in with the wallet and returns its token. */
  async signIn(wallet: TestWallet): Promise<string> {
    const { publicKey } = wallet;
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = await wallet.sign(challengeOf(CHAIN_ID, publicKey, timestamp));
    const { data, errors } = await this.generateToken({ publicKey, timestamp, signature });
    const signed = data?.['generateToken'];
    if (typeof signed !== 'object' || signed === null || !('token' in signed))
      throw new Error(JSON.stringify(errors));
    return String(signed.token);
  }

  /** Has the hub build a transaction, signs and sends it; the next block holds it. Its hash. */
  async send(wallet: TestWallet, token: string, field: string): Promise<string> {
    const built = await this.ask(`mutation { ${field} }`, {}, token);
    const [unsigned] = Object.values(built.data ?? {});
    if (built.errors.length > 0) throw new Error(JSON.stringify(built.errors));
    const raw = signUnsigned(wallet, readUnsigned(unsigned));
    const sent = await this.ask(
      'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
      { raw },
      token,
    );
    const answer = sent.data?.['sendRawTransaction'];
    if (typeof answer !== 'object' || answer === null || !('transaction_hash' in answer))
      throw new Error(sent.text);
    return String(answer.transaction_hash);
  }

  /** Makes a block of the pending transactions, and follows the chain. */
  async block(): Promise<void> {
    await this.devnet.block();
    await this.#follow();
  }

  /** Replaces the newest blocks by others, and follows the chain. */
  async reorganise(depth: number): Promise<void> {
    const { status, body } = await this.devnet.admin('/admin/clt/reorg', { depth });
    if (status !== 200) throw new Error(JSON.stringify(body));
    await this.#follow();
  }

  /**
   * Brings the read models up to the chain, and waits until the hub shows it: before, its answers
   * may be those of the chain as it was.
   */
  async #follow(): Promise<void> {
    const heard = await this.figure(HEARD);
    const published = await this.models.follow(this.devnet.devnet.node);
    const looksAgain = performance.now() + VERSION_CHECK_MS;
    const isShown = async (): Promise<boolean> => {
      const heardNow = await this.figure(HEARD);
      // no limit: from then on the hub looks at Postgres before it answers
      return heardNow >= heard + published || performance.now() > looksAgain;
    };
    await until(isShown, 'the hub to hear of the chain');
  }

  async fund(account: string, amount: bigint): Promise<void> {
    const { status, body } = await this.devnet.admin('/admin/clt/fund', {
      to: account,
      amount: String(amount),
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    await this.block();
  }

  async close(): Promise<void> {
    await this.#hub.end();
    await this.#close();
  }
}

export async function answerOf(response: Response): Promise<GraphqlAnswer> {
  const text = await response.text();
  const json = JSON.parse(text);
  const { status, headers } = response;
  const { data, extensions, errors = [] } = json;
  return { status, text, headers, data, extensions, errors };
}

/** The signed transaction of an unsigned one, as hex. */
export function signUnsigned(
  wallet: TestWallet,
  { nonce, chain_id: chainId, data }: UnsignedJson,
): string {
  const decoded = decodeCall(data.function_call_type, argumentItems(data));
  if ('refused' in decoded)
    throw new Error(`the hub built an unreadable transaction: ${decoded.refused}`);
  const unsigned = { chain_id: chainId, nonce, call: decoded.call };
  const { r, s, v } = wallet.key.sign(unsignedDigest(unsigned));
  return toHex(encodeRaw({ ...unsigned, signature: { r, s, v } }));
}

async function openDevnet(directory: string): Promise<TestDevnet> {
  const read = readDevnetConfig({
    APP_NODE_PORT: '0',
    APP_TRON_PORT: '0',
    APP_ADMIN_PORT: '0',
    APP_DEVNET_DIR: directory,
    APP_DEVNET_SEED: 'test',
    APP_LOG_LEVEL: 'silent',
    APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '3600000',
    APP_BLOCK_INTERVAL_MS: '3600000',
    APP_TRAFFIC_PER_SECOND: '0',
    APP_FINALITY_DEPTH: '6',
  });
  if ('problems' in read) throw new Error(read.problems.join());
  const identified = openIdentity(directory, read.config, Date.now());
  if ('problems' in identified) throw new Error(identified.problems.join());
  return new TestDevnet(
    await startDevnet(read.config, identified.settings, pino({ level: 'silent' })),
  );
}

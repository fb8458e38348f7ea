/** The context of resolvers: their sources, the caller, and what they report of an operation. */
import { balancesOf } from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import type { NodeChain } from '../../../schemas/chain-node.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import type { RateLimit } from '../../runtime/limits/rate.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { ConfigError } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { HubGatewayConfig } from '../config.ts';
import type { Caller, SignIns } from './authentication.ts';
import type { ListReader, ListSources } from './list-reader.ts';

/** Shared by all operations of the process. */
export interface Hub extends ListSources {
  /** reads what is there now */
  readonly reader: Reader;
  readonly chain: Pick<ChainParameters, 'info'>;
  readonly node: Pick<ChainNode, 'head' | 'nextNonce' | 'submit'>;
  readonly balances: Balances;
  readonly sign_ins: SignIns;
  /** of requests; undefined: no limit */
  readonly rate: RateLimit | undefined;
  readonly chain_id: number;
  /** 0x + hex; null: none */
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
}

/** The context of one operation. */
export interface HubContext {
  readonly hub: Hub;
  /** undefined: anonymous */
  readonly caller: Caller | undefined;
  /** for limits; undefined in subscriptions, which may serve several */
  readonly client: string | undefined;
  readonly lists: Pick<ListReader, 'read'>;
  readonly truncation: Truncation;
  /** called in subscriptions, with a read model that the result is made from */
  readonly dependsOn?: (dependency: Dependency) => void;
}

export type Model = 'market' | 'accounts';

/** The changes after which a subscription is read again. Changes of accounts always count. */
export interface Dependency {
  readonly model: Model;
  /** whether a change key of the market touches the list */
  readonly isTouchedBy?: (key: string) => boolean;
}

/**
 * Names the lists of a response that have more rows than it shows, by their response keys:
 * `extensions: { truncated: ["listRideRequests"] }`.
 */
export class Truncation {
  readonly #lists = new Set<string>();

  add(list: string): void {
    this.#lists.add(list);
  }

  /** Undefined when all lists are whole. */
  get extensions(): { readonly truncated: readonly string[] } | undefined {
    return this.#lists.size === 0 ? undefined : { truncated: [...this.#lists].toSorted() };
  }
}

const ACCOUNTS_PER_QUERY = 1_000;

interface Pending {
  readonly address: Buffer;
  readonly balance: PromiseWithResolvers<string>;
}

/** Balances from the explorer's read model. Those of one turn of the event loop share a query. */
export class Balances {
  readonly #reader: Reader;
  #pending = new Map<string, Pending>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Base units as decimal digits; 0 for an unknown account. Throws faults. */
  of(address: Buffer): Promise<string> {
    const key = toHex(address);
    const known = this.#pending.get(key);
    if (known !== undefined) return known.balance.promise;
    if (this.#pending.size === 0) setImmediate(() => void this.#read());
    const pending = { address, balance: Promise.withResolvers<string>() };
    this.#pending.set(key, pending);
    return pending.balance.promise;
  }

  async #read(): Promise<void> {
    const all = [...this.#pending];
    this.#pending = new Map();
    for (let at = 0; at < all.length; at += ACCOUNTS_PER_QUERY) {
      const batch = all.slice(at, at + ACCOUNTS_PER_QUERY);
      try {
        const rows = await this.#reader.rows(balancesOf(batch.map(([, { address }]) => address)));
        const found = new Map(rows.map(([address, balance]) => [byteaHex(address), balance]));
        for (const [key, { balance }] of batch) balance.resolve(found.get(key) ?? '0');
      } catch (error) {
        for (const [, { balance }] of batch) balance.reject(error);
      }
    }
  }
}

/** As the schema shows it. */
interface ChainInfo {
  readonly chainId: string;
  readonly isTestnet: boolean;
  readonly txFee: string;
  readonly totalSupply: string;
  readonly mintAuthority: string;
}

type ChainSettings = Pick<HubGatewayConfig, 'chain_id' | 'network'>;
const UNKNOWN = 'the CLT node has not answered yet with the parameters of its chain: is it up?';

/** The chain's parameters, read from the node once: a hub belongs to one chain. */
export class ChainParameters {
  #info: ChainInfo | undefined;

  /** Throws a fault before the node has answered. */
  get info(): ChainInfo {
    if (this.#info === undefined) throw new Fault('chain_node', UNKNOWN, { retry: true });
    return this.#info;
  }

  get problem(): HealthProblem | undefined {
    if (this.#info !== undefined) return undefined;
    return { status: 'waiting', phase: 'opening', waits_for: 'node', message: UNKNOWN };
  }

  /** Retries until the node answers. Throws a `ConfigError` when it belongs to another chain. */
  async load(
    node: ChainNode,
    settings: ChainSettings,
    log: Logger,
    signal: AbortSignal,
  ): Promise<void> {
    const what = 'reading the parameters of the chain';
    const chain = await retrying({ what, log, signal }, () => node.chain());
    const problems = mismatches(chain, settings);
    if (problems.length > 0) throw new ConfigError(problems);
    this.#info = {
      chainId: String(chain.chain_id),
      isTestnet: chain.is_testnet,
      txFee: String(chain.tx_fee),
      totalSupply: String(chain.total_supply),
      mintAuthority: toHex(chain.mint_authority),
    };
  }
}

function mismatches(chain: NodeChain, settings: ChainSettings): string[] {
  const problems: string[] = [];
  if (chain.chain_id !== settings.chain_id)
    problems.push(
      `APP_CHAIN_ID is ${settings.chain_id}, the node at APP_NODE_URL is of chain ${chain.chain_id}`,
    );
  if (chain.is_testnet !== (settings.network === 'testnet'))
    problems.push(
      `APP_NETWORK is ${settings.network}, the node at APP_NODE_URL is of ${chain.is_testnet ? 'a testnet' : 'the mainnet'}`,
    );
  return problems;
}

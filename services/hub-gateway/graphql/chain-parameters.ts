/** The chain's parameters, read from the node once: a hub belongs to one chain. */
import { toHex } from '../../../schemas/address.ts';
import type { NodeChain } from '../../../schemas/chain-node.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { ConfigError } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { HubGatewayConfig } from '../config.ts';

/** As the schema shows it. */
export interface ChainInfo {
  readonly chainId: string;
  readonly isTestnet: boolean;
  readonly txFee: string;
  readonly totalSupply: string;
  readonly mintAuthority: string;
}

type ChainSettings = Pick<HubGatewayConfig, 'chain_id' | 'network'>;
const UNKNOWN = 'the CLT node has not answered yet with the parameters of its chain: is it up?';

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
    node: Pick<ChainNode, 'chain'>,
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

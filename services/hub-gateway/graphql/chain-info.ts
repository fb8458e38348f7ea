/** The chain's parameters, read from the node once, at the start: a hub belongs to one chain, and another one needs another start. */
import { toHex } from '../../../schemas/address.ts';
import type { NodeChain } from '../../../schemas/chain-node.ts';
import { ConfigError } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';

/** As the interface shows it. */
export interface ChainInfo {
  readonly chainId: string;
  readonly isTestnet: boolean;
  readonly txFee: string;
  readonly totalSupply: string;
  readonly mintAuthority: string;
}

export interface ChainInfoSettings {
  readonly chain_id: number;
  readonly network: string;
}

export class ChainParameters {
  #info: ChainInfo | undefined;

  /** Throws a fault while the node has not told yet. */
  get info(): ChainInfo {
    if (this.#info === undefined)
      throw new Fault('chain_node', 'the CLT node has not told the parameters of the chain yet', {
        retry: true,
      });
    return this.#info;
  }

  get problem(): HealthProblem | undefined {
    if (this.#info !== undefined) return undefined;
    return {
      status: 'waiting',
      phase: 'opening',
      waits_for: 'node',
      message: 'the CLT node has not told the parameters of the chain yet: is it up?',
    };
  }

  /** Asks until the node tells. Throws a `ConfigError` when it is the node of another chain. */
  async load(
    node: Pick<ChainNode, 'chain'>,
    settings: ChainInfoSettings,
    log: Logger,
    signal: AbortSignal,
  ): Promise<void> {
    const chain = await retrying({ what: 'asking the node for its chain', log, signal }, () =>
      node.chain(),
    );
    refuseOther(chain, settings);
    this.#info = {
      chainId: String(chain.chain_id),
      isTestnet: chain.is_testnet,
      txFee: String(chain.tx_fee),
      totalSupply: String(chain.total_supply),
      mintAuthority: toHex(chain.mint_authority),
    };
  }
}

function refuseOther(
  { chain_id: chainId, is_testnet: isTestnet }: NodeChain,
  settings: ChainInfoSettings,
): void {
  const problems = [
    ...(chainId === settings.chain_id
      ? []
      : [`APP_CHAIN_ID is ${settings.chain_id}, the node at APP_NODE_URL is of chain ${chainId}`]),
    ...(isTestnet === (settings.network === 'testnet')
      ? []
      : [
          `APP_NETWORK is ${settings.network}, the node at APP_NODE_URL is of ${isTestnet ? 'a testnet' : 'the mainnet'}`,
        ]),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
}

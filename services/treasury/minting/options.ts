/** The options of minting, and the parts that it is made of. */
import type { Network, PolicyLimits } from '../../../schemas/deposit-policy.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import type { Append, Receiving, TreasuryContext } from '../ledger/ledger-writer.ts';
import type { ChainBook } from './chain-book.ts';
import type { LastCheck } from './last-check.ts';
import type { MintSigner } from './mint-signer.ts';
import type { Prover, ProverOptions } from './prover.ts';
import type { SecondNode } from './second-node.ts';

export interface MintingOptions {
  readonly signer: MintSigner;
  readonly node: ChainNode;
  /** what TRON shows of a solidified transaction; when missing, `tron.transfers` is believed */
  readonly receipt?: ProverOptions['receipt'];
  /** has to show the same final blocks before anything is minted or concluded */
  readonly second_node?: ChainNode | undefined;
  readonly chain_id: number;
  /** why nothing may be minted now; undefined when it is allowed */
  readonly allowed: () => string | undefined;
  /** interval of the checks for mints that time alone makes due */
  readonly every_ms: number;
  /** a mint in no block is broadcast again after this time */
  readonly again_ms: number;
  /** a mint in no block this long after its request needs a person */
  readonly late_ms: number;
  /** the clock may be this far from the newest final block's time; 0: any distance */
  readonly clock_apart_max_ms: number;
  /** another name than that of `chain.blocks` */
  readonly chain_topic?: string;
  /** Unix milliseconds, by default the clock's */
  readonly now?: () => number;
}

export function chainTopicOf({ chain_topic: chainTopic }: MintingOptions): string {
  return chainTopic ?? CHAIN_BLOCKS.name;
}

export interface MintingContext extends Pick<ProverOptions, 'transfers'> {
  readonly treasury: TreasuryContext;
  readonly receiving: Receiving;
  readonly network: Network;
  readonly limits: PolicyLimits;
  /** why nothing may be minted now, by this process and by its settings */
  readonly allowed: MintingOptions['allowed'];
  /** has taken every event of the ledger that counts */
  readonly last: LastCheck;
  readonly append: Append;
  /** resolves once ledger, addresses and chain are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
}

/** Shared by the parts of minting; each takes of it what it uses. */
export interface MintingParts
  extends
    Omit<TreasuryContext, 'lease'>,
    Pick<MintingContext, 'network' | 'limits' | 'last' | 'allowed' | 'append' | 'catchUp'>,
    Pick<Receiving, 'usdt_contract'>,
    Pick<
      MintingOptions,
      'signer' | 'node' | 'chain_id' | 'again_ms' | 'late_ms' | 'clock_apart_max_ms'
    > {
  readonly chain: ChainBook;
  readonly second: SecondNode | undefined;
  readonly prover: Prover;
  readonly now: () => number;
}

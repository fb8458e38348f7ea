/** Whether the node's chain is the one that is minted on, and the key the one that may. Asked before anything is requested, concluded or sent. */
import { toHex } from '../../../schemas/address.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { MintSigner } from './mint-signer.ts';

export interface Authority {
  readonly node: Pick<ChainNode, 'chain'>;
  readonly chain_id: number;
  readonly signer: Pick<MintSigner, 'address'>;
}

/** What a person should know who has another key in mind. */
export const ONE_KEY =
  'a ledger has one mint authority for ever: the key cannot be replaced, another one needs a chain and a ledger of its own';

/** Throws a fault: with retry when the node does not say, without when it says another chain or authority. */
export async function assertAuthority({ node, chain_id, signer }: Authority): Promise<void> {
  const chain = await node.chain();
  if (chain.chain_id === chain_id && chain.mint_authority.equals(signer.address)) return;
  throw new Fault(
    'another_chain',
    `the node serves chain ${chain.chain_id}, whose mint authority is ${toHex(chain.mint_authority)}; the settings are for chain ${chain_id} and the key of ${toHex(signer.address)}. What to do: correct APP_NODE_URL, APP_CHAIN_ID or APP_MINT_KEY, then start the treasury again (${ONE_KEY})`,
    { retry: false },
  );
}

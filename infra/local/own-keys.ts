/** Keys that follow from one secret seed: what a stack has in place of those that everybody knows. */
import { HDNodeWallet, id } from 'ethers';
import { parseAddress } from '../../schemas/address.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { deriveKey, mintAuthorityKey } from '../devnet/clt/keys.ts';
import type { Common } from './choices.ts';

/** Of the devnet that has this seed: its mint authority's key, what deposit addresses are derived from, and where swept money lies. */
export function keysOf(
  seed: string,
): Pick<Common, 'mint_key' | 'deposit_xpub' | 'custody_addresses'> {
  const custody = parseAddress(deriveKey(seed, 'custody').address);
  if (custody === undefined) throw new Error('a key has no address');
  const wallet = HDNodeWallet.fromSeed(id(`clt-deposits:${seed}`)).derivePath("m/44'/195'/0'/0");
  return {
    mint_key: mintAuthorityKey(seed).signing_key.privateKey,
    deposit_xpub: wallet.neuter().extendedKey,
    custody_addresses: toTronAddress(custody),
  };
}

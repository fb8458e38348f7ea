/**
 * Keys that sign for an operator: a browser wallet, or one in the memory of this page. Both sign
 * text as EIP-191 says (personal_sign), which is what decisions in the ledger are signed as.
 */
import { browserSigner } from '../../../../packages/wallet/src/index.ts';
import { OPS } from './text.ts';

export interface Signer {
  /** 0x + lower-case hex */
  readonly address: string;
  /** the key signs without asking, so the page shows the text first and may sign again */
  readonly isHere: boolean;
  /** r, s and v: 0x and 130 hex digits */
  sign(text: string): Promise<string>;
}

export async function walletSigner(): Promise<Signer> {
  const { ethereum } = window;
  if (ethereum === undefined) throw new Error(OPS.signIn.noWallet);
  const { address, signMessage } = await browserSigner(ethereum);
  return {
    address,
    isHere: false,
    sign: async (text) => {
      const { r, s, v } = await signMessage(text);
      return `${r}${s.slice(2)}${v.toString(16)}`;
    },
  };
}

/** By a private key: 64 hex digits, with or without 0x. */
export async function keySigner(privateKey: string): Promise<Signer> {
  const { Wallet } = await import('ethers/wallet');
  const key = privateKey.trim();
  return signerOf(new Wallet(key.startsWith('0x') ? key : `0x${key}`));
}

/** By a file of `ops operators new-key`. Decrypting takes some seconds. */
export async function fileSigner(file: string, password: string): Promise<Signer> {
  const { Wallet } = await import('ethers/wallet');
  const { privateKey } = await Wallet.fromEncryptedJson(file, password);
  return signerOf(new Wallet(privateKey));
}

function signerOf(wallet: {
  readonly address: string;
  signMessage(text: string): Promise<string>;
}): Signer {
  return {
    address: wallet.address.toLowerCase(),
    isHere: true,
    sign: (text) => wallet.signMessage(text),
  };
}

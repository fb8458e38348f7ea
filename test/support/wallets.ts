/**
 * One wallet of each kind that signs in: a bare key, a browser wallet made with ethers, a TRON
 * wallet made with tronweb.
 */
import { id, keccak256, toUtf8Bytes, Wallet, type SigningKey } from 'ethers';
import { TronWeb } from 'tronweb';
import type { AuthSignature } from '../../schemas/sign-in.ts';

export interface TestWallet {
  readonly kind: 'raw' | 'browser' | 'tron';
  readonly key: SigningKey;
  /** 0x + lower-case hex */
  readonly account: string;
  /** as its kind names itself */
  readonly publicKey: string;
  sign(challenge: string): Promise<AuthSignature>;
}

function parts(signature: string): AuthSignature {
  const digits = signature.slice(2);
  return {
    r: digits.slice(0, 64),
    s: digits.slice(64, 128),
    v: Number.parseInt(digits.slice(128), 16),
  };
}

/** The wallet of that kind whose key has this name; the same name always gives the same one. */
export function walletOf(kind: TestWallet['kind'], name: string): TestWallet {
  const wallet = new Wallet(id(`hub test wallet ${name}`));
  const { signingKey: key } = wallet;
  const account = wallet.address.toLowerCase();
  switch (kind) {
    case 'raw':
      return {
        kind,
        key,
        account,
        publicKey: account,
        sign: (challenge) => Promise.resolve(signRaw(key, challenge)),
      };
    case 'browser':
      return {
        kind,
        key,
        account,
        publicKey: account,
        sign: async (challenge) => parts(await wallet.signMessage(challenge)),
      };
    case 'tron': {
      const tron = new TronWeb({ fullHost: 'http://127.0.0.1:1' });
      const privateKey = wallet.privateKey.slice(2);
      const base58 = tron.address.fromPrivateKey(privateKey);
      if (base58 === false) throw new Error('tronweb takes no such key');
      const publicKey = `0x${tron.address.toHex(base58).slice(2)}`;
      return {
        kind,
        key,
        account,
        publicKey,
        sign: (challenge) => Promise.resolve(parts(tron.trx.signMessageV2(challenge, privateKey))),
      };
    }
  }
}

/** keccak256 over the lower-case hex digits of keccak256 over the text. */
export function signRaw(key: SigningKey, challenge: string): AuthSignature {
  const hashHex = keccak256(toUtf8Bytes(challenge)).slice(2);
  const { r, s, v } = key.sign(keccak256(toUtf8Bytes(hashHex)));
  return { r, s, v };
}

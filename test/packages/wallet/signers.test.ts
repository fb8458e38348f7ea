import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  concat,
  getBytes,
  hashMessage,
  keccak256,
  Signature as EthersSignature,
  toUtf8Bytes,
  toUtf8String,
  Wallet,
} from 'ethers';
import { expect, test } from 'vitest';
import {
  browserSigner,
  challenge,
  derivePrivateKey,
  digestSigner,
  messageDigest,
  messageSigner,
  privateKeySigner,
  randomPrivateKey,
  signIn,
  signTransaction,
  toHex,
  type Eip1193Provider,
  type MessageSigner,
  type SignatureLike,
} from '../../../packages/wallet/src/index.ts';
import { refuseSignIn } from '../../../schemas/sign-in.ts';
import { walletOf } from '../../support/wallets.ts';
import {
  ADDRESS,
  CHAIN_ID,
  CHALLENGE,
  PRIVATE_KEY,
  SIGN_IN,
  TIMESTAMP,
  TRANSACTIONS,
} from './vectors.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const wallet = new Wallet(PRIVATE_KEY);

type Call = Parameters<Eip1193Provider['request']>[0];

/** A browser wallet of the account; `calls` are what it was asked. */
function provider(calls: Call[] = []): Eip1193Provider {
  return {
    request: (call) => {
      calls.push(call);
      const { method, params = [] } = call;
      if (method === 'eth_requestAccounts') return Promise.resolve([wallet.address]);
      if (method === 'personal_sign') return wallet.signMessage(getBytes(String(params[0])));
      return Promise.reject(new Error(`unknown method ${method}`));
    },
  };
}

async function refusal(signer: MessageSigner): Promise<unknown> {
  const { address: publicKey } = signer;
  const signature = await signer.signMessage(challenge(CHAIN_ID, publicKey, TIMESTAMP));
  const request = { publicKey, timestamp: TIMESTAMP, signature };
  return refuseSignIn(request, CHAIN_ID, TIMESTAMP * 1_000);
}

const tron = walletOf('tron', 'package');
test.each<[string, MessageSigner | Promise<MessageSigner>]>([
  ['a private key', privateKeySigner(PRIVATE_KEY)],
  ['the bytes of a private key', privateKeySigner(getBytes(PRIVATE_KEY))],
  ['a wallet of ethers', digestSigner(wallet.address, (digest) => wallet.signingKey.sign(digest))],
  ['a signer of ethers', messageSigner(wallet.address, (text) => wallet.signMessage(text))],
  ['a browser wallet', browserSigner(provider())],
  ['a TRON wallet', messageSigner(tron.publicKey, (text) => tron.sign(text))],
])('%s signs in', async (_name, signer) => {
  expect(await refusal(await signer)).toBeUndefined();
});

test('a browser wallet is asked for its account and to sign the text, as hex', async () => {
  const calls: Call[] = [];
  const signer = await browserSigner(provider(calls));
  await signer.signMessage(CHALLENGE);
  expect(calls).toEqual([
    { method: 'eth_requestAccounts' },
    { method: 'personal_sign', params: [expect.stringMatching(/^0x/), wallet.address] },
  ]);
  expect(toUtf8String(String(calls[1]?.params?.[0]))).toBe(CHALLENGE);
});

test.each<[string, unknown, string]>([
  ['no account', [], 'has connected no account'],
  ['an account that is no address', ['me'], 'an address must be'],
])('a browser wallet with %s is no signer', async (_name, accounts, message) => {
  const signer = browserSigner({ request: () => Promise.resolve(accounts) });
  await expect(signer).rejects.toThrow(message);
});

test('the refusal of the person reaches the app as it is', async () => {
  const refused = Object.assign(new Error('User rejected the request.'), { code: 4001 });
  const signer = browserSigner({ request: () => Promise.reject(refused) });
  await expect(signer).rejects.toBe(refused);
});

const [raw] = SIGN_IN;
if (raw === undefined) throw new Error('no vector');
const { r, s, v } = raw;
const highS = `0x${(ORDER - BigInt(s)).toString(16)}`;
test.each<[string, SignatureLike]>([
  ['65 bytes', EthersSignature.from({ r, s, v }).serialized],
  ['65 bytes with the parity as v', `${r}${s.slice(2)}${v === 27 ? '00' : '01'}`],
  ['parts without 0x', { r: r.slice(2), s: s.slice(2), v }],
  ['parts without v', { r, s }],
  ['the high s', { r, s: highS, v: v === 27 ? 28 : 27 }],
  ['the high s without v', { r, s: highS }],
])('takes a signature as %s', async (_name, like) => {
  const signer = digestSigner(ADDRESS.toUpperCase().replace('0X', '0x'), (digest) => {
    expect(digest).toEqual(messageDigest(CHALLENGE));
    return like;
  });
  expect(await signer.signMessage(CHALLENGE)).toEqual({ r, s, v });
});

test.each<[string, SignatureLike, string]>([
  ['by another key', new Wallet(randomPrivateKey()).signingKey.sign(messageDigest('')), 'not by'],
  ['with another v', { r, s, v: v === 27 ? 28 : 27 }, 'is not by the key of 0x7e5f'],
  ['out of range', { r: `0x${'f'.repeat(64)}`, s, v }, 'is not by the key'],
  ['of another length', `${r}${s.slice(2)}`, '65 bytes'],
  ['with short parts', { r: '0x1', s, v }, '32 bytes'],
  ['with v of a chain', { r, s, v: 37 }, 'v of a signature'],
])('refuses a signature %s', async (_name, like, message) => {
  await expect(digestSigner(ADDRESS, () => like).signMessage(CHALLENGE)).rejects.toThrow(message);
});

test('a random private key is one, and each is another', () => {
  const keys = [randomPrivateKey(), randomPrivateKey()];
  expect(new Set(keys.map((key) => privateKeySigner(key).address)).size).toBe(2);
});

test('a key derived from a wallet depends on the chain and the wallet', async () => {
  const signer = await browserSigner(provider());
  const other = privateKeySigner(randomPrivateKey());
  const keys = [
    await derivePrivateKey(1, signer),
    await derivePrivateKey(2, signer),
    await derivePrivateKey(1, other),
  ];
  expect(new Set(keys).size).toBe(3);
  expect(await derivePrivateKey(1, signer)).toBe(keys[0]);
});

test('no key is derived from a wallet that signs differently each time', async () => {
  let signed = 0;
  const key = getBytes(PRIVATE_KEY);
  const signer = messageSigner(ADDRESS, (text) => {
    const extraEntropy = new Uint8Array(32).fill(++signed);
    const format = { prehash: false, format: 'recovered', extraEntropy } as const;
    const [recovery = 0, ...scalars] = secp256k1.sign(getBytes(hashMessage(text)), key, format);
    return toHex(Uint8Array.of(...scalars, recovery));
  });
  await expect(derivePrivateKey(1, signer)).rejects.toThrow('differently each time');
});

const stranger = new Wallet(`0x${'0'.repeat(63)}2`);
const GARBAGE = `0x${'ab'.repeat(64)}1b`;

/** Signs the first 255 bytes of a text alone, as some devices do. */
function shortening(text: string): string {
  const bytes = toUtf8Bytes(text);
  const prefix = toUtf8Bytes(`\u0019TRON Signed Message:\n${bytes.length}`);
  const digest = keccak256(concat([prefix, bytes.subarray(0, 255)]));
  return wallet.signingKey.sign(digest).serialized;
}

test.each<[string, (text: string) => SignatureLike | Promise<SignatureLike>, string]>([
  ['has another account chosen', (text) => stranger.signMessage(text), `by the key of ${ADDRESS}`],
  ['signs another text', () => wallet.signMessage('another'), 'by the key'],
  [
    'signs a digest without the prefix',
    (text) => wallet.signingKey.sign(keccak256(toUtf8Bytes(text))),
    'by the key',
  ],
  ['gives 65 bytes that nobody signed', () => GARBAGE, 'accounts of contracts'],
  ['is a contract, with a long signature', () => `0x${'ab'.repeat(194)}`, 'accounts of contracts'],
  ['is a contract, with an empty signature', () => '0x', 'accounts of contracts'],
  [
    'gives a compact signature',
    async (text) => EthersSignature.from(await wallet.signMessage(text)).compactSerialized,
    '65 bytes',
  ],
  ['gives no hex', () => 'signed', '65 bytes'],
])('no signature, sign-in or key comes from a wallet that %s', async (_name, sign, message) => {
  const signer = messageSigner(ADDRESS, sign);
  // a signer of an app's own, which checks nothing
  const unchecked = {
    address: ADDRESS,
    signMessage: async (text: string) => JSON.parse(JSON.stringify(await sign(text))),
  };
  await expect(signer.signMessage(CHALLENGE)).rejects.toThrow(message);
  for (const each of [signer, unchecked])
    await expect(derivePrivateKey(CHAIN_ID, each)).rejects.toThrow(message);
  const asked = signIn({ url: 'http://127.0.0.1:1/never', chainId: CHAIN_ID }, unchecked);
  await expect(asked).rejects.toThrow(message);
});

test('a device that signs the first 255 bytes alone gives the key of the wallet, on each chain', async () => {
  const signed: string[] = [];
  const device = messageSigner(ADDRESS, (text) => {
    signed.push(text);
    return shortening(text);
  });
  for (const chain of [CHAIN_ID, Number.MAX_SAFE_INTEGER])
    expect(await derivePrivateKey(chain, device)).toMatch(/^0x[0-9a-f]{64}$/);
  expect(Math.max(...signed.map((text) => toUtf8Bytes(text).length))).toBeLessThanOrEqual(255);
});

test('a transaction is not signed by a signer that gives the signature of another key', async () => {
  const other = privateKeySigner(stranger.privateKey);
  const signer = { ...other, address: ADDRESS };
  const unsigned = TRANSACTIONS[0]?.unsigned;
  await expect(signTransaction(CHAIN_ID, unsigned, signer)).rejects.toThrow('by the key');
});

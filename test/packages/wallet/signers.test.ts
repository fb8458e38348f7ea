import { getBytes, Signature as EthersSignature, toUtf8String, Wallet } from 'ethers';
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
  toHex,
  type Eip1193Provider,
  type MessageSigner,
  type SignatureLike,
} from '../../../packages/wallet/src/index.ts';
import { refuseSignIn } from '../../../schemas/sign-in.ts';
import { walletOf } from '../../support/wallets.ts';
import { ADDRESS, CHAIN_ID, CHALLENGE, PRIVATE_KEY, SIGN_IN, TIMESTAMP } from './vectors.ts';

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
  const signer = messageSigner(
    ADDRESS,
    () => `0x${toHex(Uint8Array.of(++signed)).slice(2).padStart(64, '0')}${s.slice(2)}1b`,
  );
  await expect(derivePrivateKey(1, signer)).rejects.toThrow('differently each time');
});

/** Libraries of wallets as they come: each signs in, or is refused in words. */
import { Signature, Wallet } from 'ethers';
import { TronWeb } from 'tronweb';
import { parseSignature, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { mainnet } from 'viem/chains';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import {
  ask,
  browserSigner,
  challenge,
  digestSigner,
  messageSigner,
  send,
  signIn,
  signTransaction,
  type Eip1193Provider,
  type Hub,
  type MessageSigner,
  type Signer,
} from '../../../../packages/wallet/src/index.ts';
import { CHAIN_ID, HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import {
  ethersSigner,
  tronSigner,
  viemSigner,
  wagmiSigner,
} from '../../../services/hub-gateway/wallet-clients.ts';

const PRIVATE_KEY: Hex = `0x${'5a'.repeat(32)}`;
const account = privateKeyToAccount(PRIVATE_KEY);
const ethersWallet = new Wallet(PRIVATE_KEY);
const tronWeb = new TronWeb({ fullHost: 'http://127.0.0.1:9', privateKey: PRIVATE_KEY.slice(2) });
const tronAddress = `0x${String(tronWeb.defaultAddress.hex).slice(2)}`;

/** The provider that a browser wallet gives to pages. */
const provider = {
  request: async ({ method, params = [] }: Parameters<Eip1193Provider['request']>[0]) => {
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [account.address];
    if (method === 'eth_chainId') return toHex(mainnet.id);
    if (method === 'personal_sign')
      return account.signMessage({ message: { raw: hexOf(params[0]) } });
    throw Object.assign(new Error(`unsupported ${method}`), { code: 4200 });
  },
  on: () => undefined,
  removeListener: () => undefined,
};

function hexOf(value: unknown): Hex {
  return `0x${String(value).replace('0x', '')}`;
}

let world: HubWorld;
let hub: Hub;
beforeAll(async () => {
  // wagmi looks for injected wallets on pages alone
  const page = { ethereum: provider, addEventListener: ignore, removeEventListener: ignore };
  vi.stubGlobal('window', { ...page, dispatchEvent: () => true });
  world = await HubWorld.open(inject('stack'));
  await world.fund(account.address, 50_000_000n);
  hub = { url: `${world.url}/graphql`, chainId: CHAIN_ID };
});
afterAll(async () => {
  await world.close();
  vi.unstubAllGlobals();
});

function ignore(): void {
  // no wallet changes its account here
}

async function signsIn(signer: MessageSigner): Promise<void> {
  const { token } = await signIn(hub, signer);
  expect(await ask(hub, '{ accountBalance }', {}, token)).toEqual({ accountBalance: '50000000' });
}

async function signsTransactions(signer: Signer): Promise<void> {
  const { token } = await signIn(hub, signer);
  const built = await ask(hub, 'mutation { burn: createUnsignedBurn(amount: "1") }', {}, token);
  await send(hub, token, await signTransaction(CHAIN_ID, built['burn'], signer));
}

test('an account of viem signs in', () =>
  signsIn(messageSigner(account.address, (message) => account.signMessage({ message }))));

test('a wallet client of viem signs in with a browser wallet', async () => {
  await signsIn(await viemSigner(provider));
});

test('an account of viem signs transactions', () =>
  signsTransactions(digestSigner(account.address, (hash) => account.sign({ hash: toHex(hash) }))));

test('a Wallet of ethers signs in', () =>
  signsIn(messageSigner(ethersWallet.address, (text) => ethersWallet.signMessage(text))));

test('a BrowserProvider of ethers signs in with a browser wallet', async () =>
  signsIn(await ethersSigner(provider)));

test('a Wallet of ethers signs transactions', () =>
  signsTransactions(
    digestSigner(ethersWallet.address, (digest) => ethersWallet.signingKey.sign(digest)),
  ));

test('wagmi signs in with a browser wallet', async () => signsIn(await wagmiSigner(provider)));

test('the provider of a browser wallet signs in', async () =>
  signsIn(await browserSigner(provider)));

test('TronWeb signs in by signMessageV2', () => signsIn(tronSigner(PRIVATE_KEY)));

/** The refusal of a sign-in that an app builds by itself. */
async function refusalOf(publicKey: string, sign: (text: string) => unknown): Promise<string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = await sign(challenge(CHAIN_ID, publicKey, timestamp));
  const parts = typeof signature === 'string' ? Signature.from(signature) : Object(signature);
  const { r, s, v } = parts;
  const { errors } = await world.generateToken({ publicKey, timestamp, signature: { r, s, v } });
  return errors[0]?.message ?? 'signed in';
}

test('the address of viem, ethers and wagmi as it comes is told to be sent in lower case', async () => {
  const sign = (message: string): Promise<string> => account.signMessage({ message });
  expect(await refusalOf(account.address, sign)).toContain('in lower case');
  expect(await refusalOf(account.address.toLowerCase(), sign)).toBe('signed in');
});

test('the yParity of viem in the place of v is told to be added to 27', async () => {
  const refusal = await refusalOf(account.address.toLowerCase(), async (message) => {
    const { r, s, yParity } = parseSignature(await account.signMessage({ message }));
    return { r, s, v: yParity };
  });
  expect(refusal).toContain('add 27');
});

test('the address of TronWeb as it comes is told to be sent in its hex form', async () => {
  const sign = (text: string): unknown => tronWeb.trx.signMessageV2(text);
  const { base58, hex } = tronWeb.defaultAddress;
  for (const address of [String(base58), String(hex), `0x${String(hex)}`])
    expect(await refusalOf(address, sign)).toContain('0x in place of the 41 of its hex form');
});

/** The form of before TIP-191. */
function signOld(text: string): unknown {
  return tronWeb.trx.signMessage(Buffer.from(text).toString('hex'), PRIVATE_KEY.slice(2));
}

test('the older signMessage of TronWeb is told which text to sign', async () => {
  expect(await refusalOf(tronAddress, signOld)).toContain(
    'let this account of the wallet sign this text',
  );
});

test('typed data of viem and ethers are told which text to sign', async () => {
  const types = { SignIn: [{ name: 'text', type: 'string' }] };
  const typed = (text: string): Promise<string> =>
    ethersWallet.signTypedData({ chainId: CHAIN_ID }, types, { text });
  expect(await refusalOf(account.address.toLowerCase(), typed)).toContain('sign this text');
});

test('transactions that viem and ethers sign are told not to be of this chain', async () => {
  const { token } = await signIn(
    hub,
    messageSigner(account.address, (message) => account.signMessage({ message })),
  );
  const fields = { chainId: CHAIN_ID, nonce: 0, to: account.address, value: 1n, gasPrice: 1n };
  for (const raw of [
    await account.signTransaction({ ...fields, gas: 21_000n, type: 'legacy' }),
    await account.signTransaction({
      chainId: CHAIN_ID,
      nonce: 0,
      to: account.address,
      maxFeePerGas: 1n,
    }),
    await ethersWallet.signTransaction({ ...fields, gasLimit: 21_000n }),
  ])
    await expect(
      ask(
        hub,
        'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
        { raw },
        token,
      ),
    ).rejects.toThrow('a signed transaction of this chain, which a browser wallet does not make');
});

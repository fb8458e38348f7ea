/** The package for wallets against a real hub and a real explorer. */
import { getBytes, Wallet } from 'ethers';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  ask,
  browserSigner,
  derivePrivateKey,
  digestSigner,
  messageSigner,
  privateKeySigner,
  send,
  signIn,
  signTransaction,
  waitForOutcome,
  type Eip1193Provider,
  type Hub,
  type MessageSigner,
  type Outcome,
  type SignedTransaction,
  type Signer,
} from '../../../../packages/wallet/src/index.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { CHAIN_ID, HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { walletOf } from '../../../support/wallets.ts';

const REFERENCE = `0x${'cd'.repeat(32)}`;
const ROUTE =
  'pickupLatitude: 52.52, pickupLongitude: -13.405, dropoffLatitude: 0.1234567, dropoffLongitude: 180';

const ethersWallet = new Wallet(`0x${'12'.repeat(32)}`);
const rider = digestSigner(ethersWallet.address, (digest) => ethersWallet.signingKey.sign(digest));
const driver = privateKeySigner(`0x${'34'.repeat(32)}`);
const browserWallet: Eip1193Provider = {
  request: ({ method, params = [] }) =>
    method === 'personal_sign'
      ? ethersWallet.signMessage(getBytes(String(params[0])))
      : Promise.resolve([ethersWallet.address]),
};

let world: HubWorld;
let explorer: ExplorerServer;
let hub: Hub;
const tokens = new Map<string, string>();

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: world.postgres_reader_url });
  hub = { url: `${world.url}/graphql`, chainId: CHAIN_ID };
  for (const signer of [rider, driver]) await enter(signer);
});
afterAll(async () => {
  await explorer.close();
  await world.close();
});

async function enter(signer: MessageSigner): Promise<void> {
  await world.fund(signer.address, 50_000_000n);
  tokens.set(signer.address, (await signIn(hub, signer)).token);
}

function tokenOf({ address }: Signer): string {
  return tokens.get(address) ?? '';
}

/** A transaction of the hub's builder, signed. */
async function signed(signer: Signer, field: string): Promise<SignedTransaction> {
  const data = await ask(hub, `mutation { ${field} }`, {}, tokenOf(signer));
  return signTransaction(CHAIN_ID, Object.values(data)[0], signer);
}

/** Sends it and makes the next block, which must hold it. Its hash. */
async function include(signer: Signer, transaction: SignedTransaction): Promise<string> {
  await send(hub, tokenOf(signer), transaction);
  await world.block();
  const outcome = await waitForOutcome(explorer.url, transaction, { pollMs: 50 });
  expect(outcome).toMatchObject({ outcome: 'included' });
  return transaction.hash;
}

async function act(signer: Signer, field: string): Promise<string> {
  return include(signer, await signed(signer, field));
}

async function balance(signer: Signer): Promise<bigint> {
  const { accountBalance } = await ask(hub, '{ accountBalance }', {}, tokenOf(signer));
  return BigInt(String(accountBalance));
}

const tron = walletOf('tron', 'package');
test.each<[string, () => MessageSigner | Promise<MessageSigner>]>([
  ['a wallet of ethers', () => rider],
  ['a private key', () => driver],
  ['a browser wallet', () => browserSigner(browserWallet)],
  ['a TRON wallet', () => messageSigner(tron.publicKey, (text) => tron.sign(text))],
])('%s signs in', async (_name, open) => {
  const signer = await open();
  const begun = Date.now() / 1_000;
  const { token, expiresAt } = await signIn(hub, signer);
  expect(expiresAt).toBeGreaterThan(begun);
  expect(await ask(hub, '{ accountBalance }', {}, token)).toEqual({
    accountBalance: expect.stringMatching(/^\d+$/),
  });
});

test('a wallet for another chain is refused', async () => {
  const signing = signIn({ ...hub, chainId: CHAIN_ID + 1 }, driver);
  await expect(signing).rejects.toMatchObject({ name: 'HubError', code: 'UNAUTHENTICATED' });
});

test('the transaction of every builder is signed, sent and included', async () => {
  const requested = await act(rider, `createUnsignedRideRequest(${ROUTE}, fare: "1000000")`);
  const offered = await act(
    driver,
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "2000000")`,
  );
  const trip = await act(
    rider,
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  await act(
    rider,
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "500000")`,
  );
  await act(driver, `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}")`);
  const other = await act(rider, `createUnsignedRideRequest(${ROUTE}, fare: "7")`);
  await act(rider, `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${other}")`);
  await act(rider, 'createUnsignedBurn(amount: "5")');
  await act(rider, `createUnsignedBurn(amount: "5", redemptionRef: "${REFERENCE}")`);
});

test('a transfer that the wallet makes itself is included', async () => {
  const { nonce } = await signed(rider, 'createUnsignedBurn(amount: "1")');
  const before = await balance(driver);
  const transfer = {
    from: rider.address,
    nonce,
    chain_id: CHAIN_ID,
    data: {
      function_call_type: 'Transfer',
      arguments: { to: driver.address, amount: '1234' },
    },
  };
  await include(rider, await signTransaction(CHAIN_ID, transfer, rider));
  expect((await balance(driver)) - before).toBe(1_234n);
});

test('the key derived from a browser wallet has an account of its own', async () => {
  const wallet = await browserSigner(browserWallet);
  const signer = privateKeySigner(await derivePrivateKey(CHAIN_ID, wallet));
  expect(signer.address).not.toBe(wallet.address);
  await enter(signer);
  await act(signer, `createUnsignedRideRequest(${ROUTE}, fare: "9")`);
});

test('sent again, before or after its block, a transaction is no error; its nonce is taken by then', async () => {
  const first = await signed(rider, 'createUnsignedBurn(amount: "1")');
  const second = await signed(rider, 'createUnsignedBurn(amount: "2")');
  expect(second.nonce).toBe(first.nonce);
  await send(hub, tokenOf(rider), first);
  await send(hub, tokenOf(rider), first);
  await world.block();
  await send(hub, tokenOf(rider), first);
  const sending = send(hub, tokenOf(rider), second);
  await expect(sending).rejects.toMatchObject({ name: 'HubError', code: 'nonce_too_low' });

  const options = { pollMs: 50, until: 'final' } as const;
  const outcomes = Promise.all([
    waitForOutcome(explorer.url, first, options),
    waitForOutcome(explorer.url, second, options),
  ]);
  let known: readonly Outcome[] | undefined;
  while (known === undefined) {
    await world.block();
    known = await Promise.race([outcomes, Promise.resolve(undefined)]);
  }
  expect(known).toEqual([
    { outcome: 'final', blockHeight: expect.any(Number) },
    { outcome: 'replaced' },
  ]);
});

/** Libraries of wallets before the provider of a browser wallet, for Node and for a page. */
import { BrowserProvider } from 'ethers';
import { TronWeb } from 'tronweb';
import { createWalletClient, custom } from 'viem';
import { mainnet } from 'viem/chains';
import { createConfig, http, injected } from 'wagmi';
import { connect, getConnection, signMessage } from 'wagmi/actions';
import {
  messageSigner,
  type Eip1193Provider,
  type MessageSigner,
} from '../../../packages/wallet/src/index.ts';

export async function viemSigner(provider: Eip1193Provider): Promise<MessageSigner> {
  const client = createWalletClient({ chain: mainnet, transport: custom(provider) });
  const [account] = await client.requestAddresses();
  if (account === undefined) throw new Error('the wallet has connected no account');
  return messageSigner(account, (message) => client.signMessage({ account, message }));
}

export async function ethersSigner(provider: Eip1193Provider): Promise<MessageSigner> {
  const signer = await new BrowserProvider(provider).getSigner();
  return messageSigner(signer.address, (text) => signer.signMessage(text));
}

export async function wagmiSigner(provider: Eip1193Provider): Promise<MessageSigner> {
  const connector = injected({
    target: () => ({ id: 'own', name: 'own', provider: () => Object(provider) }),
  });
  const config = createConfig({
    chains: [mainnet],
    transports: { [mainnet.id]: http() },
    connectors: [connector],
    storage: null,
  });
  const { accounts } = await connect(config, { connector });
  return messageSigner(getConnection(config).address ?? accounts[0], (message) =>
    signMessage(config, { message }),
  );
}

export function tronSigner(privateKey: string): MessageSigner {
  const key = privateKey.replace('0x', '');
  const tronWeb = new TronWeb({ fullHost: 'http://127.0.0.1:9', privateKey: key });
  const address = `0x${String(tronWeb.defaultAddress.hex).slice(2)}`;
  return messageSigner(address, (text) => tronWeb.trx.signMessageV2(text));
}

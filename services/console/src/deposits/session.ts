/** Who is signed in, as long as the tab is open. */
import {
  ask,
  browserSigner,
  privateKeySigner,
  randomPrivateKey,
  signIn,
  type Eip1193Provider,
  type Hub,
  type MessageSigner,
} from '../../../../packages/wallet/src/index.ts';
import { storeOf } from '../browser.ts';

export interface Session {
  readonly account: string;
  readonly token: string;
  /** Unix seconds */
  readonly expiresAt: number;
}

const STORE = storeOf('sessionStorage');
const SESSION = 'clt-session';
const KEY = 'clt-throw-away-key';

/** Undefined when nobody is signed in, or the token has expired at `now` (Unix milliseconds). */
export function storedSession(now: number): Session | undefined {
  const text = STORE.getItem(SESSION);
  if (text === null) return undefined;
  const session: Session = JSON.parse(text);
  return session.expiresAt * 1_000 > now ? session : undefined;
}

export function signOut(): void {
  STORE.removeItem(SESSION);
}

/** With the wallet of the browser, which asks the person. */
export async function signInWithWallet(hub: Hub, provider: Eip1193Provider): Promise<Session> {
  return store(hub, await browserSigner(provider));
}

/** With a key of this tab: it is gone when the tab is closed. For the testnet alone. */
export async function signInWithKey(hub: Hub): Promise<Session> {
  const key = STORE.getItem(KEY) ?? randomPrivateKey();
  STORE.setItem(KEY, key);
  return store(hub, privateKeySigner(key));
}

async function store(hub: Hub, signer: MessageSigner): Promise<Session> {
  const session = { account: signer.address, ...(await signIn(hub, signer)) };
  STORE.setItem(SESSION, JSON.stringify(session));
  return session;
}

/** As the hub says it. */
export async function isTestnet(hub: Hub): Promise<boolean> {
  const { chainInfo } = await ask(hub, '{ chainInfo { isTestnet } }');
  return typeof chainInfo === 'object' && chainInfo !== null && 'isTestnet' in chainInfo
    ? chainInfo.isTestnet === true
    : false;
}

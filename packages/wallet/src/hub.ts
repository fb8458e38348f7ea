/** The hub: sign-in, questions, and sending. */
import { parseJson, readObject } from './json.ts';
import { signText, type MessageSigner } from './signers.ts';
import type { SignedTransaction } from './transaction.ts';

export interface Hub {
  /** of its GraphQL, for example https://hub.example/graphql */
  readonly url: string;
  /** from the app's own configuration: the hub's word for it proves nothing */
  readonly chainId: number;
}

export interface Session {
  readonly token: string;
  /** Unix seconds */
  readonly expiresAt: number;
}

/** A refusal of the hub, or of the node behind it. */
export class HubError extends Error {
  override readonly name = 'HubError';
  /**
   * for example UNAUTHENTICATED of the hub, nonce_too_low of the node, HTTP_502 of a proxy;
   * SIGNED_TOO_LATE of `signIn`
   */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The text that is signed to sign in. `timestamp` in Unix seconds. */
export function challenge(chainId: number, publicKey: string, timestamp: number): string {
  return `service-auth:${chainId}:${publicKey}:${timestamp}`;
}

/** The hub takes a challenge for so long before and after its own time. */
const CHALLENGE_S = 120;

/**
 * Signs in. The hub refuses a clock that is more than 120 s away from its own. A wallet that takes
 * longer to sign, such as a device that a person has to find, is `SIGNED_TOO_LATE`: sign in again.
 */
export async function signIn(hub: Hub, signer: MessageSigner): Promise<Session> {
  const publicKey = signer.address;
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = await signText(signer, challenge(hub.chainId, publicKey, timestamp));
  const took = Math.floor(Date.now() / 1_000) - timestamp;
  if (took > CHALLENGE_S)
    throw new HubError(
      'SIGNED_TOO_LATE',
      `the wallet took ${took} s to sign, and the hub takes a signed text for ${CHALLENGE_S} s: sign in again`,
    );
  const { generateToken } = await ask(
    hub,
    `mutation ($publicKey: String!, $timestamp: Int!, $signature: AuthSignatureInput!) {
      generateToken(publicKey: $publicKey, timestamp: $timestamp, signature: $signature) { token expiresAt }
    }`,
    { publicKey, timestamp, signature },
  );
  const { token, expiresAt } = readObject(generateToken) ?? {};
  if (typeof token !== 'string' || typeof expiresAt !== 'number')
    throw hubError(undefined, undefined);
  return { token, expiresAt };
}

/** Asks the hub. The `data` of the answer; an error in it is thrown. */
export async function ask(
  { url }: Hub,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  token?: string,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = readObject(parseJson(await response.text())) ?? {};
  const error = Array.isArray(errors) ? readObject(errors[0]) : undefined;
  const answer = readObject(data);
  if (error === undefined && answer !== undefined) return answer;
  const { code } = readObject(error?.['extensions']) ?? {};
  throw hubError(code, error?.['message'], `HTTP_${response.status}`);
}

/**
 * Sends a signed transaction; returns when the node has it, now or before, or a block holds it: as
 * often as it is sent. A `HubError` with a code of the node is a refusal; `nonce_too_low` means
 * that a block holds another transaction of the account with the nonce. After any other error the
 * node may have it: send the same again, which is harmless, before signing others.
 */
export async function send(
  hub: Hub,
  token: string,
  { raw, hash }: SignedTransaction,
): Promise<void> {
  const { sendRawTransaction } = await ask(
    hub,
    'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
    { raw },
    token,
  );
  // refusals are data, not errors
  const { transaction_hash: transactionHash, code, message } = readObject(sendRawTransaction) ?? {};
  if (code === 'already_known' || transactionHash === hash) return;
  // a node that names another transaction has said nothing about this one
  throw typeof transactionHash === 'string'
    ? hubError(undefined, undefined)
    : hubError(code, message);
}

function hubError(code: unknown, message: unknown, otherwise = 'UNREADABLE'): HubError {
  return new HubError(
    typeof code === 'string' ? code : otherwise,
    typeof message === 'string' ? message : 'the hub gave no answer that can be read',
  );
}

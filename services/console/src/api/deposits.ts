/**
 * The deposit gateway's interface, as its OpenAPI document describes it. Its amounts are JSON
 * numbers of any size, so every number is read as its digits.
 */
import type { PolicyLimits } from '../../../../schemas/deposit-policy.ts';
import { send } from './service.ts';

/** micro-USDT as decimal digits. */
type Amount = string;

export interface Deposit {
  readonly id: string;
  readonly status: string;
  readonly amount_usdt: Amount;
  readonly tron_tx_id: string;
  readonly created_at: string;
}

export interface DepositEvent {
  readonly event: string;
  readonly at: string;
  readonly reason: string | null;
  readonly gross: Amount | null;
  readonly fee: Amount | null;
  readonly credit: Amount | null;
  readonly chain: 'tron' | 'clt' | null;
  readonly tx_hash: string | null;
  readonly block_height: string | null;
  readonly topic: string;
  readonly partition: string;
  readonly offset: string;
}

export interface Timeline {
  readonly status: string;
  readonly reason: string | null;
  readonly waiting_for: string | null;
  readonly gross: Amount;
  readonly fee: Amount;
  readonly credit: Amount;
  readonly events: readonly DepositEvent[];
}

export interface Policy {
  readonly version: string;
  readonly network: string;
  readonly limits: PolicyLimits;
  readonly in_force_since: string;
}

/** The JSON with its numbers as text: those above 2^53 keep their digits. */
export function withExactNumbers(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
}

/** Throws a `ServiceError`. */
async function ask<Body>(url: string, init: RequestInit): Promise<Body> {
  const response = await send(url, init);
  const body: Body = JSON.parse(withExactNumbers(await response.text()));
  return body;
}

export interface Caller {
  /** of the gateway, without a path */
  readonly url: string;
  readonly token: string;
}

function owned<Body>({ url, token }: Caller, path: string, init: RequestInit): Promise<Body> {
  const headers = { authorization: `Bearer ${token}` };
  return ask<Body>(`${url}/api/v1/deposits${path}`, { ...init, headers });
}

/** The caller's address on TRON, made by the first call. */
export async function openAddress(caller: Caller, signal: AbortSignal): Promise<string> {
  const { address } = await owned<{ readonly address: string }>(caller, '', {
    method: 'POST',
    signal,
  });
  return address;
}

/** The last check of the caller's address for transfers. */
export interface AddressCheck {
  /** null: never */
  readonly checked_at: string | null;
  /** milliseconds as digits, by the clock of the service; null: never */
  readonly checked_ms_ago: string | null;
  /** milliseconds as digits; 0: the next check is not due yet */
  readonly overdue_ms: string;
}

export function addressCheck({ url, token }: Caller, signal: AbortSignal): Promise<AddressCheck> {
  const headers = { authorization: `Bearer ${token}` };
  return ask(`${url}/api/v1/address-check`, { headers, signal });
}

/** Newest first, at most 20. */
export async function listDeposits(
  caller: Caller,
  signal: AbortSignal,
): Promise<readonly Deposit[]> {
  const { deposits } = await owned<{ readonly deposits: readonly Deposit[] }>(caller, '', {
    signal,
  });
  return deposits;
}

export function timelineOf(caller: Caller, id: string, signal: AbortSignal): Promise<Timeline> {
  return owned(caller, `/${id}/events`, { signal });
}

export async function policyInForce(url: string, signal: AbortSignal): Promise<Policy> {
  const { version, network, in_force_since, ...amounts } = await ask<
    Readonly<Record<keyof PolicyLimits | 'version' | 'network' | 'in_force_since', string>>
  >(`${url}/public/policy`, { signal });
  return {
    version,
    network,
    in_force_since,
    limits: {
      first_fee: BigInt(amounts.first_fee),
      later_fee: BigInt(amounts.later_fee),
      minimum: BigInt(amounts.minimum),
      single_cap: BigInt(amounts.single_cap),
      rolling_cap: BigInt(amounts.rolling_cap),
    },
  };
}

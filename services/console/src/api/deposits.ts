/** Asks the deposit gateway. Its amounts are JSON numbers of any size: all are read as digits. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type * as answers from '../../../../schemas/deposit-api/deposits.ts';
import type { PolicyLimits } from '../../../../schemas/deposit-policy.ts';
import { send } from './service.ts';

/** An answer with its numbers as decimal digits. */
type AsText<Value> = Value extends number
  ? string
  : Value extends readonly (infer Item)[]
    ? readonly AsText<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: AsText<Value[Name]> }
      : Value;

export type Deposit = AsText<answers.Deposit>;
export type DepositEvent = AsText<answers.DepositEvent>;
export type Timeline = AsText<answers.Timeline>;
export type AddressCheck = AsText<answers.AddressCheck>;
export type MintQueue = AsText<answers.MintQueue>;

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

/** Asks with the token of an account. */
function owned<Body>({ url, token }: Caller, path: string, init: RequestInit): Promise<Body> {
  const headers = { authorization: `Bearer ${token}` };
  return ask<Body>(`${url}/api/v1/${path}`, { ...init, headers });
}

/** The caller's address on TRON, made by the first call. */
export async function openAddress(caller: Caller, signal: AbortSignal): Promise<string> {
  const init = { method: 'POST', signal };
  return (await owned<answers.DepositAddress>(caller, 'deposits', init)).address;
}

export function addressCheck(caller: Caller, signal: AbortSignal): Promise<AddressCheck> {
  return owned(caller, 'address-check', { signal });
}

/** Newest first, at most 20. */
export async function listDeposits(caller: Caller, signal: AbortSignal) {
  type Listed = { readonly deposits: readonly Deposit[] };
  return (await owned<Listed>(caller, 'deposits', { signal })).deposits;
}

export function timelineOf(caller: Caller, id: string, signal: AbortSignal): Promise<Timeline> {
  return owned(caller, `deposits/${encodeURIComponent(id)}/events`, { signal });
}

export type Policy = Awaited<ReturnType<typeof policyInForce>>;

export async function policyInForce(url: string, signal: AbortSignal) {
  const said = await ask<AsText<answers.Policy>>(`${url}/public/policy`, { signal });
  const limits: PolicyLimits = {
    first_fee: BigInt(said.first_fee),
    later_fee: BigInt(said.later_fee),
    minimum: BigInt(said.minimum),
    single_cap: BigInt(said.single_cap),
    rolling_cap: BigInt(said.rolling_cap),
  };
  return { version: said.version, in_force_since: said.in_force_since, limits };
}

/** `url`: undefined while nobody names the service. */
export function useMintQueue(url: string | undefined): UseQueryResult<MintQueue> {
  return useQuery({
    queryKey: ['mint queue', url],
    queryFn: ({ signal }) => ask<MintQueue>(`${url}/public/mint-queue`, { signal }),
    enabled: url !== undefined,
    refetchInterval: 5_000,
  });
}

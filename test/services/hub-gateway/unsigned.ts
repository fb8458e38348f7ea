/** Reads unsigned transactions as a wallet does: arguments in the order of the chain's encoding. */

export interface UnsignedJson {
  readonly from: string;
  readonly nonce: number;
  readonly chain_id: number;
  readonly data: {
    readonly function_call_type: string;
    readonly arguments: Readonly<Record<string, string | null>>;
  };
}

const ORDER: Readonly<Record<string, readonly string[]>> = {
  RideRequest: ['pickup_lat', 'pickup_lng', 'dropoff_lat', 'dropoff_lng', 'fare', 'referrer'],
  RideOffer: ['request_hash', 'fare', 'referrer'],
  RideAcceptance: ['offer_hash'],
  RidePay: ['acceptance_hash', 'fare'],
  RideCancel: ['acceptance_hash'],
  RideRequestCancel: ['request_hash'],
  Burn: ['amount', 'redemption_ref'],
};
const NUMBERS = new Set(['fare', 'amount']);

export function argumentItems({
  function_call_type: functionCallType,
  arguments: args,
}: UnsignedJson['data']): readonly Uint8Array[] {
  const names = ORDER[functionCallType] ?? [];
  if (Object.keys(args).toSorted().join() !== names.toSorted().join())
    throw new Error(`${functionCallType} has the arguments ${Object.keys(args).join()}`);
  return names.map((name) => {
    const value = args[name] ?? null;
    if (value === null) return new Uint8Array(0);
    if (NUMBERS.has(name)) {
      const digits = BigInt(value).toString(16);
      return value === '0'
        ? new Uint8Array(0)
        : Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
    }
    return value.startsWith('0x') ? Buffer.from(value.slice(2), 'hex') : Buffer.from(value);
  });
}

/** The value of a field that builds a transaction. Throws when it is none. */
export function readUnsigned(value: unknown): UnsignedJson {
  const problem = new Error(`no unsigned transaction: ${JSON.stringify(value)}`);
  if (
    typeof value !== 'object' ||
    value === null ||
    !('from' in value && 'nonce' in value && 'chain_id' in value && 'data' in value)
  )
    throw problem;
  const { from, nonce, chain_id: chainId, data } = value;
  if (typeof from !== 'string' || typeof nonce !== 'number' || typeof chainId !== 'number')
    throw problem;
  if (
    typeof data !== 'object' ||
    data === null ||
    !('function_call_type' in data && 'arguments' in data)
  )
    throw problem;
  const { function_call_type: functionCallType, arguments: args } = data;
  if (typeof functionCallType !== 'string' || typeof args !== 'object' || args === null)
    throw problem;
  const texts = Object.entries<unknown>({ ...args }).map(
    ([name, each]) => [name, typeof each === 'string' ? each : null] as const,
  );
  return {
    from,
    nonce,
    chain_id: chainId,
    data: { function_call_type: functionCallType, arguments: Object.fromEntries(texts) },
  };
}

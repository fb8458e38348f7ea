/** The nine calls of the CLT chain, each with its arguments in the order of the signed bytes. */
import { toHex } from './address.ts';
import { AMOUNT_MAX } from './money.ts';
import { LATITUDE_MAX, LONGITUDE_MAX, coordinateProblem } from './coordinate.ts';
import type { Rlp } from './rlp.ts';
import { decodeInteger, encodeInteger } from './rlp.ts';

/** Optional arguments are null in code and empty in the signed bytes. */
interface ArgumentTypes {
  readonly amount: bigint;
  readonly address: string;
  readonly optional_address: string | null;
  readonly hash: string;
  readonly optional_hash: string | null;
  readonly latitude: string;
  readonly longitude: string;
}
type ArgumentType = keyof ArgumentTypes;

const CALLS = {
  RideRequest: {
    pickup_lat: 'latitude',
    pickup_lng: 'longitude',
    dropoff_lat: 'latitude',
    dropoff_lng: 'longitude',
    fare: 'amount',
    referrer: 'optional_address',
  },
  RideOffer: { request_hash: 'hash', fare: 'amount', referrer: 'optional_address' },
  RideAcceptance: { offer_hash: 'hash' },
  RidePay: { acceptance_hash: 'hash', fare: 'amount' },
  RideCancel: { acceptance_hash: 'hash' },
  RideRequestCancel: { request_hash: 'hash' },
  Mint: { to: 'address', amount: 'amount', reference: 'optional_hash' },
  Transfer: { to: 'address', amount: 'amount' },
  Burn: { amount: 'amount', redemption_ref: 'optional_hash' },
} as const satisfies Record<string, Readonly<Record<string, ArgumentType>>>;

export type FunctionCallType = keyof typeof CALLS;

/** Addresses and hashes are 0x + lower-case hex, coordinates canonical decimal text. */
export type FunctionCall = {
  readonly [Type in FunctionCallType]: {
    readonly function_call_type: Type;
    readonly arguments: {
      readonly [Name in keyof (typeof CALLS)[Type]]: ArgumentTypes[(typeof CALLS)[Type][Name] &
        ArgumentType];
    };
  };
}[FunctionCallType];

/** One member of the union. */
export type Call<Type extends FunctionCallType> = Extract<
  FunctionCall,
  { readonly function_call_type: Type }
>;

export const FUNCTION_CALL_TYPES: readonly FunctionCallType[] = [
  'RideRequest',
  'RideOffer',
  'RideAcceptance',
  'RidePay',
  'RideCancel',
  'RideRequestCancel',
  'Mint',
  'Transfer',
  'Burn',
];

export type CallRefusal =
  | 'unknown_function_call'
  | 'wrong_arity'
  | 'unexpected_list'
  | 'integer_not_minimal'
  | 'amount_too_large'
  | 'bad_address'
  | 'bad_hash'
  | 'coordinate_not_canonical'
  | 'coordinate_out_of_range';

type Value = string | bigint | null;

/** The arguments as JSON: amounts are decimal text. */
export function argumentsJson(call: FunctionCall): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries<Value>(call.arguments).map(([name, value]) => [
      name,
      value === null ? null : String(value),
    ]),
  );
}

/** The arguments as signed. */
export function encodeArguments(call: FunctionCall): readonly Uint8Array[] {
  const values: Readonly<Record<string, Value>> = call.arguments;
  return Object.entries<ArgumentType>(CALLS[call.function_call_type]).map(([name, type]) =>
    encodeArgument(type, values[name] ?? null),
  );
}

/** Decodes the arguments of a call strictly, so that a call has exactly one encoding. */
export function decodeCall(
  name: string,
  items: readonly Rlp[],
): { readonly call: FunctionCall } | { readonly refused: CallRefusal } {
  const type = FUNCTION_CALL_TYPES.find((each) => each === name);
  if (type === undefined) return { refused: 'unknown_function_call' };
  const parameters = Object.entries<ArgumentType>(CALLS[type]);
  if (items.length !== parameters.length) return { refused: 'wrong_arity' };
  const values: Record<string, Value> = {};
  for (const [index, [parameter, argumentType]] of parameters.entries()) {
    const item = items[index];
    if (!(item instanceof Uint8Array)) return { refused: 'unexpected_list' };
    const decoded = decodeArgument(argumentType, item);
    if ('refused' in decoded) return decoded;
    values[parameter] = decoded.value;
  }
  const call = { function_call_type: type, arguments: values };
  return isCall(call) ? { call } : { refused: 'wrong_arity' };
}

/** Whether every parameter has a value; `decodeArgument` has checked the types. */
function isCall(call: {
  readonly function_call_type: FunctionCallType;
  readonly arguments: Readonly<Record<string, Value>>;
}): call is FunctionCall {
  return Object.keys(CALLS[call.function_call_type]).every((name) =>
    Object.hasOwn(call.arguments, name),
  );
}

function encodeArgument(type: ArgumentType, value: Value): Uint8Array {
  if (value === null) return new Uint8Array(0);
  if (typeof value === 'bigint') return encodeInteger(value);
  return type === 'latitude' || type === 'longitude'
    ? Buffer.from(value, 'utf8')
    : Buffer.from(value.slice(2), 'hex');
}

function decodeArgument(
  type: ArgumentType,
  bytes: Uint8Array,
): { readonly value: Value } | { readonly refused: CallRefusal } {
  switch (type) {
    case 'amount': {
      const value = decodeInteger(bytes);
      if (value === undefined) return { refused: 'integer_not_minimal' };
      return value > AMOUNT_MAX ? { refused: 'amount_too_large' } : { value };
    }
    case 'address':
      return bytes.length === 20 ? { value: toHex(bytes) } : { refused: 'bad_address' };
    case 'optional_address':
      return bytes.length === 0 ? { value: null } : decodeArgument('address', bytes);
    case 'hash':
      return bytes.length === 32 ? { value: toHex(bytes) } : { refused: 'bad_hash' };
    case 'optional_hash':
      return bytes.length === 0 ? { value: null } : decodeArgument('hash', bytes);
    case 'latitude':
      return coordinate(bytes, LATITUDE_MAX);
    case 'longitude':
      return coordinate(bytes, LONGITUDE_MAX);
  }
}

function coordinate(
  bytes: Uint8Array,
  limit: number,
): { readonly value: string } | { readonly refused: CallRefusal } {
  if (bytes.length > 32) return { refused: 'coordinate_not_canonical' };
  const value = Buffer.from(bytes).toString('latin1');
  const refused = coordinateProblem(value, limit);
  return refused === undefined ? { value } : { refused };
}

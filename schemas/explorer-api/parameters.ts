/** The parameters of the explorer. */
import { Type } from 'typebox';
import { parseAddress, parseHash } from '../address.ts';
import {
  ANY_TEXT,
  decimal,
  defaulted,
  inPath,
  integer,
  oneOf,
  optional,
  parseDecimal,
  PARAMETER_CHARACTERS_MAX,
  required,
  STORABLE_TEXT,
  type Form,
} from '../http-api/parameters.ts';
import { ACCOUNT, BLOCK_HASH, TRANSACTION_HASH } from './values.ts';

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = 100;
/** Hours or days of a series. */
const BUCKETS_MAX = 1_000;
/** of a balance history */
const POINTS_MAX = 500;
/** A cursor: 12 bytes in base64url. */
export const CURSOR_PATTERN = '^[A-Za-z0-9_-]{16}$';

export const LIMIT = defaulted('limit', integer(1, LIMIT_MAX), LIMIT_DEFAULT, {
  description: 'Maximum number of items.',
});

const FROM_START = decimal('be a decimal integer, 0 or more');
/** Without a default for handlers: given with a cursor it is refused. */
export const OFFSET = optional(
  'offset',
  { ...FROM_START, schema: { ...FROM_START.schema, default: 0 } },
  { description: 'Number of items to skip, from the newest. Not together with a cursor.' },
);

/** Any text, which `pageOf` reads: a cursor is good for its list only. */
export const CURSOR = optional(
  'cursor',
  { ...ANY_TEXT, schema: Type.String({ pattern: CURSOR_PATTERN }) },
  {
    description:
      'Continues a list; taken from the Link header of the previous page. Opaque, and valid for the same list and filters only.',
  },
);

export const PAGE = [LIMIT, OFFSET, CURSOR] as const;

export const AMOUNTS = optional(
  'amounts',
  oneOf(['string'], 'be string: leave it out for JSON numbers'),
  {
    description: 'Amounts as text instead of numbers, which may exceed 2^53.',
    example: 'string',
  },
);

const HEIGHT_FORM = decimal('be the height of a block, a decimal integer');
const ADDRESS_FORM: Form<Buffer> = {
  schema: Type.String({ pattern: '^(0[xX])?[0-9a-fA-F]{40}$' }),
  parse: parseAddress,
  must: 'be 40 hex digits, with or without 0x',
};

/** A decimal integer, of a length that cannot exhaust anything. */
export function parseHeight(text: string): bigint | undefined {
  return text.length <= PARAMETER_CHARACTERS_MAX ? parseDecimal(text) : undefined;
}

type BlockName = { readonly hash: Buffer } | { readonly height: bigint };

/** 64 hex digits are a hash, even if all are decimals; other decimals are a height. */
function parseBlockName(text: string): BlockName | undefined {
  const hash = parseHash(text);
  if (hash !== undefined) return { hash };
  const height = parseHeight(text);
  return height === undefined ? undefined : { height };
}

export const BLOCK_ID = inPath(
  'id',
  {
    schema: Type.String({
      minLength: 1,
      maxLength: PARAMETER_CHARACTERS_MAX,
      pattern: '^(([0-9]+)|((0[xX])?[0-9a-fA-F]{64}))$',
    }),
    parse: parseBlockName,
  },
  'a block is named by its height, a decimal integer, or its hash, 64 hex digits with or without 0x',
  {
    description: 'Height, or hash with or without 0x. A value of 64 digits is a hash.',
    example: '1200',
  },
);

export const TRANSACTION_ID = inPath(
  'hash',
  { schema: Type.String({ pattern: '^(0[xX])?[0-9a-fA-F]{64}$' }), parse: parseHash },
  'a transaction is named by its hash, 64 hex digits with or without 0x',
  { description: 'Hash, with or without 0x.', example: TRANSACTION_HASH },
);

export const ACCOUNT_ID = inPath(
  'address',
  ADDRESS_FORM,
  'an account is named by its address, 40 hex digits with or without 0x',
  { description: 'Address in any case, with or without 0x.', example: ACCOUNT },
);

export const RUN_ID = inPath(
  'id',
  {
    schema: ANY_TEXT.schema,
    parse: (text) =>
      text.length <= PARAMETER_CHARACTERS_MAX ? STORABLE_TEXT.parse(text) : undefined,
  },
  `a reserve run is named by its id, at most ${PARAMETER_CHARACTERS_MAX} characters`,
  { description: 'The run_id.', example: '1042:1200' },
);

export const ADDRESS = optional('address', ADDRESS_FORM, {
  description: 'Sender or recipient, in any case, with or without 0x.',
  example: ACCOUNT,
});
export const EXPORTED_ADDRESS = optional('address', ADDRESS_FORM, {
  description: 'Address in any case, with or without 0x; all accounts without it.',
  example: ACCOUNT,
});
export const BLOCK = optional('block', decimal('be a height, a decimal integer'), {
  description: 'Height of the block.',
  example: 1200,
});
export const TYPE = optional('type', STORABLE_TEXT, {
  description:
    'Exact function_call_type, in its spelling: RideRequest, RideOffer, RideAcceptance, RidePay, RideCancel, RideRequestCancel, Mint, Transfer, Burn. Any other word, such as ridepay, matches nothing.',
  example: 'RidePay',
});
export const STATUS = optional('status', ANY_TEXT, {
  description: 'Exact status; only confirmed is ever stored.',
  example: 'confirmed',
});

export const KIND = optional('kind', STORABLE_TEXT, {
  description: 'Only changes of this kind.',
  example: 'ride_pay',
});
export const DIRECTION = optional('direction', oneOf(['credit', 'debit'], 'be credit or debit'), {
  description: 'Only changes that raise the balance, or that lower it.',
});

export const HEIGHT = required('height', HEIGHT_FORM, 'the height of a block', {
  description: 'The height of the block.',
  example: 1200,
});
export const FROM_HEIGHT = optional('from_height', HEIGHT_FORM, {
  description: 'First block, by height.',
  example: 0,
});
export const TO_HEIGHT = optional('to_height', HEIGHT_FORM, {
  description: 'Last block, by height.',
  example: 1200,
});

export const POINTS = defaulted('points', integer(2, POINTS_MAX), 200, {
  description: 'How many balances at most.',
});

/** A text longer than all that can be found becomes one that finds nothing. */
function searched(description: string, example: string) {
  const form: Form<string> = {
    schema: Type.String({ minLength: 1 }),
    parse: (text) => (text.length > PARAMETER_CHARACTERS_MAX ? '' : text),
    must: 'be a text',
  };
  return {
    ...required('q', form, 'a height, a hash or an address', { description, example }),
    characters_max: Number.POSITIVE_INFINITY,
  };
}
export const SEARCHED = searched('A height, a hash or an address.', '1200');
export const SUGGESTED = searched(
  'A height, or the beginning of a hash or an address.',
  BLOCK_HASH.slice(0, 6),
);

const TIME_PATTERN =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,3})?)?Z)?$';
const TIME_TEXT = new RegExp(TIME_PATTERN);
/** As Unix ms. */
const TIME_FORM: Form<number> = {
  schema: Type.String({ pattern: TIME_PATTERN }),
  parse: (text) => {
    const at = TIME_TEXT.test(text) ? Date.parse(text) : Number.NaN;
    // not a day of the calendar
    return Number.isNaN(at) ? undefined : at;
  },
  must: 'be a time in UTC, such as 2026-03-01 or 2026-03-01T12:00:00Z',
};

export const BY = defaulted('by', oneOf(['hour', 'day'], 'be one of: hour, day'), 'hour', {
  description: 'Length of a bucket.',
  example: 'day',
});
export const FROM = optional('from', TIME_FORM, {
  description: 'Only buckets that begin at this time or later, in UTC.',
  example: '2026-11-01',
});
export const TO = optional('to', TIME_FORM, {
  description: 'Only buckets that begin before this time, in UTC.',
  example: '2026-11-21T12:00:00Z',
});
export const BUCKETS = defaulted('limit', integer(1, BUCKETS_MAX), 168, {
  description: 'Hours or days, counted back from the last one with a block.',
  example: 48,
});

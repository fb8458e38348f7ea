/** Values in answers of the explorer. */
import { Type } from 'typebox';
import { FUNCTION_CALL_TYPES } from '../function-call.ts';

/** In examples of the OpenAPI document. */
export const ACCOUNT = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
export const VALIDATOR = '0x1f7c9a0b3d5e2f4a6b8c0d1e2f3a4b5c6d7e8f90';
export const BLOCK_HASH = '0x5b1f0d6ac4f94b4e8a5c20a3b5c0a3cf7f2f2c6e9d01b34a6d1b7c3e8f9a0b1c';
export const TRANSACTION_HASH =
  '0xc3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4';

export const MOMENT = '2026-11-21T07:28:02.500Z';

export const ADDRESS = Type.String({
  $id: 'Address',
  description: '20 bytes: 0x and 40 lower-case hex digits.',
  pattern: '^0x[0-9a-f]{40}$',
  example: ACCOUNT,
});
export const HASH = Type.String({
  $id: 'Hash',
  description: '32 bytes: 0x and 64 lower-case hex digits.',
  pattern: '^0x[0-9a-f]{64}$',
  example: BLOCK_HASH,
});
export const TIME = Type.String({
  $id: 'Time',
  description: 'A time in ISO 8601, UTC.',
  format: 'date-time',
  pattern: '^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|\\+00:00)$',
  example: MOMENT,
});
export const COUNT = Type.Integer({
  $id: 'Count',
  description: 'A whole number.',
  minimum: 0,
  example: 0,
});

/** The type is the one with amounts=string. */
export const AMOUNT = Type.Unsafe<string>({
  $id: 'Amount',
  description:
    'CLT base units (1 USD is 1,000,000). It may exceed 2^53: read it with arbitrary precision, or ask for text with amounts=string.',
  oneOf: [
    { title: 'the default', type: 'integer', minimum: 0 },
    { title: 'with amounts=string', type: 'string', pattern: '^[0-9]+$' },
  ],
  example: 0,
});
export const SIGNED_AMOUNT = Type.Unsafe<string>({
  $id: 'SignedAmount',
  description: 'CLT base units (1 USD is 1,000,000), as Amount but below 0 too.',
  oneOf: [
    { title: 'the default', type: 'integer' },
    { title: 'with amounts=string', type: 'string', pattern: '^-?[0-9]+$' },
  ],
});

export const CALL_TYPE = Type.Unsafe<string>({
  $id: 'FunctionCallType',
  description:
    'Type of the call. The chain may have more than these words; show an unknown one as it is.',
  anyOf: [
    {
      title: 'known',
      type: 'string',
      enum: [...FUNCTION_CALL_TYPES],
    },
    { title: 'any other', type: 'string' },
  ],
  example: 'RidePay',
});

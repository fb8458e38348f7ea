/** Amounts: `bigint` in code, text in JSON, `numeric` in Postgres, Avro `decimal` in Kafka. */

/** The largest amount: 2^256 - 1. */
export const AMOUNT_MAX = (1n << 256n) - 1n;

const CANONICAL = /^(0|[1-9][0-9]{0,77})$/;

/** Decimal text without sign or leading zeros, up to `AMOUNT_MAX`; other text is undefined. */
export function parseAmount(text: string): bigint | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const amount = BigInt(text);
  return amount <= AMOUNT_MAX ? amount : undefined;
}

/** Avro's `decimal` with scale 0: minimal big-endian two's complement; zero is one byte. */
export function encodeDecimal(value: bigint): Buffer {
  let bytes = 1;
  while (BigInt.asIntN(bytes * 8, value) !== value) bytes++;
  const encoded = Buffer.alloc(bytes);
  let rest = value;
  for (let at = bytes - 1; at >= 0; at--) {
    encoded[at] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return encoded;
}

/** The inverse of `encodeDecimal`; an empty buffer is zero. */
export function decodeDecimal(bytes: Buffer): bigint {
  const length = bytes.length;
  if (length === 0) return 0n;
  if (length <= 6) return BigInt(bytes.readIntBE(0, length));
  const magnitude = BigInt(`0x${bytes.toString('hex')}`);
  return BigInt.asIntN(length * 8, magnitude);
}

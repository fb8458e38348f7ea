/** Amounts: `bigint` in code, decimal text on the wire, `numeric` in Postgres, two's complement bytes (Avro `decimal`, scale 0) in the log. */

/** The largest amount anything here may name: 2^256 - 1. */
export const AMOUNT_MAX = (1n << 256n) - 1n;

const CANONICAL = /^(0|[1-9][0-9]{0,77})$/;

/** Decimal text without sign, leading zeros, point or exponent, at most 2^256 - 1; anything else is undefined. */
export function parseAmount(text: string): bigint | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const amount = BigInt(text);
  return amount <= AMOUNT_MAX ? amount : undefined;
}

/** Big-endian two's complement, as short as the value allows; zero is one zero byte. */
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

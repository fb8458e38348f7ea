/**
 * Recursive length prefix (RLP), decoded strictly: a value has exactly one encoding. Source:
 * https://ethereum.org/en/developers/docs/data-structures-and-encoding/rlp/
 */

export type Rlp = Uint8Array | readonly Rlp[];

export type RlpRefusal =
  'rlp_truncated' | 'rlp_not_minimal' | 'rlp_nested_too_deep' | 'trailing_bytes';

/** Decodes one item, with lists nested up to `depth_max`. Byte strings are views of `bytes`. */
export function decodeRlp(
  bytes: Uint8Array,
  depth_max: number,
): { readonly item: Rlp } | { readonly refused: RlpRefusal } {
  const read = itemAt(bytes, 0, bytes.length, depth_max);
  if (typeof read === 'string') return { refused: read };
  return read.end === bytes.length ? { item: read.item } : { refused: 'trailing_bytes' };
}

interface Read {
  readonly item: Rlp;
  readonly end: number;
}

function itemAt(bytes: Uint8Array, at: number, limit: number, depth: number): Read | RlpRefusal {
  const first = bytes[at];
  if (first === undefined || at >= limit) return 'rlp_truncated';
  if (first < 0x80) return { item: bytes.subarray(at, at + 1), end: at + 1 };
  const isList = first >= 0xc0;
  const size = payload(bytes, at, limit, first - (isList ? 0xc0 : 0x80));
  if (typeof size === 'string') return size;
  const { start, end } = size;
  if (!isList) {
    const item = bytes.subarray(start, end);
    return item.length === 1 && (item[0] ?? 0) < 0x80 ? 'rlp_not_minimal' : { item, end };
  }
  if (depth === 0) return 'rlp_nested_too_deep';
  const items: Rlp[] = [];
  for (let next = start; next < end;) {
    const read = itemAt(bytes, next, end, depth - 1);
    if (typeof read === 'string') return read;
    items.push(read.item);
    next = read.end;
  }
  return { item: items, end };
}

/** The payload's range: a length up to 55 is in the first byte, others in the next 1 to 8 bytes. */
function payload(
  bytes: Uint8Array,
  at: number,
  limit: number,
  code: number,
): { readonly start: number; readonly end: number } | RlpRefusal {
  let start = at + 1;
  let length = code;
  if (code > 55) {
    const digits = code - 55;
    if (start + digits > limit) return 'rlp_truncated';
    length = 0;
    for (let digit = 0; digit < digits; digit++)
      length = length * 256 + (bytes[start + digit] ?? 0);
    if (bytes[start] === 0 || length <= 55) return 'rlp_not_minimal';
    start += digits;
  }
  return start + length > limit ? 'rlp_truncated' : { start, end: start + length };
}

export function encodeRlp(item: Rlp): Uint8Array {
  if (item instanceof Uint8Array) {
    return item.length === 1 && (item[0] ?? 0) < 0x80
      ? item
      : Buffer.concat([prefix(item.length, 0x80), item]);
  }
  const parts = item.map(encodeRlp);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([prefix(length, 0xc0), ...parts]);
}

function prefix(length: number, base: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(base + length);
  const digits = encodeInteger(BigInt(length));
  return Uint8Array.of(base + 55 + digits.length, ...digits);
}

/** Big-endian without leading zeros; zero is empty. */
export function encodeInteger(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array(0);
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

/** The inverse of `encodeInteger`; undefined when a leading byte is zero. */
export function decodeInteger(bytes: Uint8Array): bigint | undefined {
  if (bytes.length === 0) return 0n;
  return bytes[0] === 0
    ? undefined
    : BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`);
}

/** Addresses of TRON as text, quickly: a log names millions of them. */
import { hash } from 'node:crypto';

const PREFIX = 0x41;
const ADDRESS_BYTES = 20;
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Five digits of base58 and twenty bits at a time: 58^5 * 2^20 is below 2^53. */
const DIGITS = 5;
const RADIX = 58 ** DIGITS;
const LIMB = 2 ** 20;
const LIMB_DIGITS = 5;

const REMEMBERED_MAX = 32_768;
const remembered = new Map<string, string>();

const payload = Buffer.alloc(1 + ADDRESS_BYTES);
payload[0] = PREFIX;

/** Base58check of an address of 20 bytes, given as hex without 0x. */
export function tronText(hex: string): string {
  const known = remembered.get(hex);
  if (known !== undefined) return known;
  payload.write(hex, 1, 'hex');
  const checksum = hash('sha256', hash('sha256', payload, 'buffer')).slice(0, 8);
  const text = base58(`${PREFIX.toString(16)}${hex}${checksum}`);
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(hex, text);
  return text;
}

/** Of hex digits that do not begin with a zero byte, by long division. */
function base58(hex: string): string {
  const limbs: number[] = [];
  const first = hex.length % LIMB_DIGITS;
  if (first > 0) limbs.push(Number.parseInt(hex.slice(0, first), 16));
  for (let at = first; at < hex.length; at += LIMB_DIGITS)
    limbs.push(Number.parseInt(hex.slice(at, at + LIMB_DIGITS), 16));
  let text = '';
  let begin = 0;
  while (begin < limbs.length) {
    let rest = 0;
    for (let at = begin; at < limbs.length; at++) {
      const value = rest * LIMB + (limbs[at] ?? 0);
      limbs[at] = Math.floor(value / RADIX);
      rest = value % RADIX;
    }
    while (begin < limbs.length && limbs[begin] === 0) begin++;
    for (let digit = 0; digit < DIGITS && (rest > 0 || begin < limbs.length); digit++) {
      text = (ALPHABET[rest % 58] ?? '') + text;
      rest = Math.floor(rest / 58);
    }
  }
  return text;
}

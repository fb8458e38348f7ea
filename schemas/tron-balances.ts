/**
 * Many balances of a TRC-20 token in one constant call. A TRON node simulates a deployment when a
 * constant call names no contract (java-tron, `Wallet.triggerConstantContract`): it runs the data
 * as init code, and answers the bytes that this returns. The init code here returns words of 32
 * bytes: one for each of `TOKEN_FUNCTIONS`, then two for each address behind the code, its
 * `balanceOf` and its `isBlackListed`. It reverts when a call for a balance fails or answers
 * anything but one word. A token need not have the other functions: then their words are 0. No
 * answer begins with 0xEF, which a deployment refuses: the first word is a truth value.
 */

const ADDRESS_BYTES = 20;

/** Functions that are asked about the token as a whole. */
export const TOKEN_FUNCTIONS = [
  'paused()',
  'deprecated()',
  'basisPointsRate()',
  'maximumFee()',
] as const;
export const BLOCKED_FUNCTION = 'isBlackListed(address)';

/** Words of the answer about the token, and about each address. */
export const TOKEN_WORDS = TOKEN_FUNCTIONS.length;
export const ADDRESS_WORDS = 2;

/**
 * Asks a function that the token may not have, in 33 bytes of code; the answer is 0 unless the call
 * goes well and answers one word. 65,535 energy is many times what reading a word takes, and a
 * token that wastes all of it for each address leaves enough for the rest.
 */
function optionalWord(selector: string): string {
  return [
    `63${selector}600052`, // PUSH4 the selector, store it at 0x1c, as the end of a word
    '602081', // 32 bytes of answer, to the next answer
    '6024601c', // 36 bytes of data at 0x1c
    '8661fffffa', // STATICCALL of the token with 65,535 energy
    '3d60201416', // did it go well, with an answer of 32 bytes
    '8151028152', // multiply the answer by that, 1 or 0
    '602001', // the next answer
  ].join('');
}

/**
 * The stack, top first: offset in memory of the next answer, offset in the code of the next
 * address, the token. The call's data is at 0x1c to 0x40 of the memory; the answers begin at 0x40.
 */
const INIT_CODE = Buffer.from(
  [
    '601460f5604c39', // copy the token behind the code to the end of the word at 0x40
    '604051', // load the token
    '610109', // the first address in the code
    '6040', // the first answer in memory
    optionalWord('5c975abb'), // paused()
    optionalWord('0e136b19'), // deprecated()
    optionalWord('dd644f72'), // basisPointsRate()
    optionalWord('35390714'), // maximumFee()
    '5b3882101560e8', // 0x93: the address offset below the code's size?
    '57', // if not, go to 0xe8
    '601482602c39', // copy the address to the end of the call's data
    '6370a08231600052', // PUSH4 the selector of balanceOf(address), store it at 0x1c
    '602081', // 32 bytes of answer, to the next answer
    '6024601c', // 36 bytes of data at 0x1c
    '865afa', // STATICCALL of the token with all energy
    '3d602014', // is the answer 32 bytes long
    '161560f057', // if not, or if the call failed, go to 0xf0
    '602001', // the next answer
    optionalWord('e47d6060'), // isBlackListed(address)
    '9060140190', // the next address
    '609356', // go to 0x93
    '5b60408103', // 0xe8: the length of all answers
    '6040f3', // return them
    '5b600080fd', // 0xf0: revert
  ].join(''),
  'hex',
);

/** The data of the call, for addresses of 20 bytes. */
export function balancesCall(token: Buffer, addresses: readonly Buffer[]): Buffer {
  return Buffer.concat([INIT_CODE, token, ...addresses]);
}

/** The inverse of `balancesCall`; undefined for other data. */
export function readBalancesCall(
  data: Buffer,
): { readonly token: Buffer; readonly addresses: readonly Buffer[] } | undefined {
  const given = data.subarray(INIT_CODE.length);
  if (!data.subarray(0, INIT_CODE.length).equals(INIT_CODE)) return undefined;
  if (given.length === 0 || given.length % ADDRESS_BYTES !== 0) return undefined;
  const [token = given, ...addresses] = Array.from(
    { length: given.length / ADDRESS_BYTES },
    (_, at) => given.subarray(at * ADDRESS_BYTES, (at + 1) * ADDRESS_BYTES),
  );
  return { token, addresses };
}

/**
 * Many balances of a TRC-20 token in one constant call. A TRON node simulates a deployment when a
 * constant call names no contract (java-tron, `Wallet.triggerConstantContract`): it runs the data
 * as init code, and answers the bytes that this returns. The init code here calls `balanceOf` for
 * each address behind it and returns one word of 32 bytes for each; it reverts when a call fails
 * or answers anything but one word. No answer begins with 0xEF, which a deployment refuses: a
 * balance is far below 2^247.
 */

const ADDRESS_BYTES = 20;

/**
 * The stack, top first: offset in memory of the next answer, offset in the code of the next
 * address, the token. The call's data is at 0x1c to 0x40 of the memory; the answers begin at 0x40.
 */
const INIT_CODE = Buffer.from(
  [
    '6370a08231', // PUSH4 the selector of balanceOf(address)
    '600052', // store it at 0x1c, as the end of a word
    '6014604f604c39', // copy the token behind the code to the end of the word at 0x40
    '604051', // load the token
    '6063', // the first address in the code
    '6040', // the first answer in memory
    '5b388210156042', // 0x16: the address offset below the code's size?
    '57', // if not, go to 0x42
    '601482602c39', // copy the address to the end of the call's data
    '602081', // 32 bytes of answer, to the next answer
    '6024601c', // 36 bytes of data at 0x1c
    '865afa', // STATICCALL of the token with all energy
    '3d602014', // is the answer 32 bytes long
    '1615604a57', // if not, or if the call failed, go to 0x4a
    '602001', // the next answer
    '9060140190', // the next address
    '601656', // go to 0x16
    '5b60408103', // 0x42: the length of all answers
    '6040f3', // return them
    '5b600080fd', // 0x4a: revert
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

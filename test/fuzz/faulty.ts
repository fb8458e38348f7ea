/** A target for the test of runs: an input names what goes wrong. */
import { decodeDecimal } from '../../schemas/money.ts';

export const about = 'faults';
export const seeds = ['fails'];

export function fuzz(bytes: Buffer): void {
  // its branches are counted
  decodeDecimal(bytes);
  const text = bytes.toString();
  if (text === 'fails') throw new Error('it fails');
  if (text === 'ends') process.exit(3);
  if (text === 'pollutes') Object.assign(Object.prototype, { added: 1 });
}

/** What an item of activity is called: for programs its kind, for people its label. */

export type Direction = 'credit' | 'debit';

/** The kinds that this chain records, each in the directions in which it moves a balance. */
const LABELS: ReadonlyMap<string, Readonly<Partial<Record<Direction, string>>>> = new Map([
  ['transfer_in', { credit: 'Transfer received' }],
  ['transfer_out', { debit: 'Transfer sent' }],
  ['mint', { credit: 'Minted' }],
  ['burn', { debit: 'Burned' }],
  ['ride_escrow', { credit: 'Ride fare received in escrow', debit: 'Ride fare put into escrow' }],
  ['ride_pay', { credit: 'Ride payment received', debit: 'Ride payment sent' }],
  ['ride_refund', { credit: 'Ride refund received', debit: 'Ride refund sent' }],
  ['tx_fee_paid', { debit: 'Transaction fee paid' }],
  ['tx_fee_earned', { credit: 'Transaction fees earned' }],
  ['block_reward', { credit: 'Block reward received', debit: 'Block reward paid' }],
  ['referrer_fee', { credit: 'Referrer fee received', debit: 'Referrer fee paid' }],
]);

/** Of what is not in the table, the words of its kind. */
export function activityLabel(kind: string, direction: Direction): string {
  return LABELS.get(kind)?.[direction] ?? asWords(kind);
}

function asWords(kind: string): string {
  const [first = '', ...rest] = kind.replaceAll('_', ' ').trim();
  return first.toUpperCase() + rest.join('');
}

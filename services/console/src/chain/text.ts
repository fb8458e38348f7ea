/** English texts of titles, of what a transaction did, and of names. */

export const CHAIN = {
  tabs: {
    block: 'Block',
    account: (name: string): string => `Account ${name}`,
    of: (page: string, state: string): string => `${page}: ${state}`,
    covered: 'covered',
    unknown: 'not known now',
    missing: 'not found',
  },
  confirmations: (has: number, needs: number): string =>
    `${has} of ${needs} ${needs === 1 ? 'confirmation' : 'confirmations'}`,
  answer: {
    title: 'In one sentence',
    notFinal: 'Its block may still be replaced.',
    rideNotFinal: 'The newest steps of its ride may still be replaced.',
  },
  call: {
    title: 'Call',
    request: 'Request',
    acceptance: 'Acceptance',
    referrer: 'Referrer',
    requestReferrer: 'Referrer of the request',
    offerReferrer: 'Referrer of the offer',
    gets: 'gets',
  },
  names: {
    zero: 'Zero address',
    escrow: 'Escrow',
    rewards: 'Reward pool',
    authority: 'Mint authority',
    validator: (number: number): string => `Validator ${number}`,
    own: (address: string): string => `Your name for ${address}`,
    label: 'Your name for it',
    save: 'Save',
    remove: 'Remove',
    where: 'Kept in this browser alone, and sent to nobody.',
  },
  place: { title: 'Place' },
} as const;

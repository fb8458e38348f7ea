/** English texts of titles, of what a transaction did, and of names. */

export const CHAIN = {
  tabs: {
    block: 'Block',
    account: (name: string): string => `Account ${name}`,
    of: (page: string, state: string): string => `${page}: ${state}`,
    covered: 'covered',
    old: 'newest run is old',
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
  account: {
    after: 'After block',
    counted: (height: string): string =>
      `Nonce and counts are those of block ${height}, or of a later one.`,
    behind: 'behind the line: may still be replaced',
  },
  validators: {
    counted: (blocks: string, height: string): string =>
      `${blocks} blocks are counted, up to ${height} or a later one. The newest may still be replaced.`,
  },
  charts: {
    later: (span: string): string =>
      `This address names an end after the newest block: the newest ${span} are shown.`,
    noBlock: 'no block',
  },
  /** between a change and the balance after it */
  afterwards: 'then',
  search: {
    noRun: 'No reserve run is near: only the newest 100 are searched. Reserve lists all runs.',
  },
  place: {
    title: 'Place',
    moved: (height: string, index: number): string =>
      `A reorganisation moved this transaction while this page was open: it was number ${index} of block ${height}.`,
  },
  home: {
    /** when the explorer was asked for blocks and transactions */
    moment: (time: string): string => `Blocks and transactions of ${time}`,
    zone: (name: string): string => `Times in ${name}`,
    wall: 'For a screen on the wall',
    leave: 'Leave the wall',
    sentence: 'In one sentence',
    filled: (count: number): string => `${count} tx`,
    deposits: 'Deposits in flight',
    sums: 'Sums as of the reserve run',
    queue: (time: string): string => `Queue and room as of ${time}`,
    count: (count: string): string => (count === '1' ? '1 deposit' : `${count} deposits`),
    countMost: (count: string): string => `at least ${count} deposits`,
    why: 'Reason',
    next: 'Next to be minted',
    room: 'Room under the cap of 24 hours',
    stopped: 'Operators have stopped all minting.',
  },
  rides: {
    title: 'Rides',
    open: 'Open requests',
    active: 'Being driven',
    paid: 'Paid last',
    nothingPaid: 'None is paid yet.',
    most: (count: string): string => `${count} or more`,
    moment: (time: string): string => `No change since ${time}`,
  },
} as const;

/** English texts of a single deposit; those of the page around it are in `../text.ts`. */
export const DEPOSIT = {
  title: 'Deposit',
  all: 'All deposits',
  /** of one that is opened by its address */
  signIn: 'Sign in with the account that the deposit belongs to: nobody else sees it.',
  notYours: (account: string): string =>
    `The account ${account} has no deposit with this id. Sign out, and sign in with the account that it belongs to.`,
  link: 'Link of this deposit',
  /** as of the newest block */
  balance: 'Balance now:',
  tron: 'Show on TRON',
  until: {
    time: (time: string, distance: string): string => `Not before ${time}, in ${distance}.`,
    person: 'The service names no time for a decision.',
  },
  notices: {
    ask: 'Tell me when one is credited',
    stop: 'Tell me no more',
    on: 'This browser tells you when one of the deposits listed here is credited, as long as this tab is open and signed in. A tab in the background looks about once a minute.',
    absent:
      'This browser tells nothing from this page: it has no notifications, or the address is neither https nor localhost. Keep the page open to see the credit.',
    refused:
      'Notifications of this page are refused. Allow them in the settings of the browser for this site, then press again.',
    failed: (reason: string): string => `The browser refused a notification: ${reason}`,
    title: 'Deposit credited',
    body: (amount: string): string =>
      `${amount} USDT arrived; their credit, less the fee, is in your account.`,
  },
} as const;

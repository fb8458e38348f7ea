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
    person:
      'No time is set for the decision. Nothing is needed from you; to ask about it, name its id.',
  },
  notices: {
    ask: 'Notify me when one is credited',
    stop: 'Stop notifying me',
    on: 'This browser notifies you when one of the deposits listed here is credited, as long as this tab is open and you are signed in. In the background the tab looks about once a minute.',
    absent:
      'This browser shows no notifications of this page: it has none, or the address is neither https nor localhost. Keep the page open to see the credit.',
    refused:
      'Notifications of this page are blocked. Allow them in the settings of the browser for this site, then press the button again.',
    failed: (reason: string): string => `The browser refused a notification: ${reason}`,
    title: 'Deposit credited',
    body: (amount: string): string =>
      `Your account has the credit for ${amount} USDT, less the fee.`,
  },
} as const;

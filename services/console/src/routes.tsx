/** The pages by address; docs/development.md says what else a new one needs. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { painted } from './browser.ts';
import { BlockPage } from './chain/block.tsx';
import { HomePage } from './chain/home.tsx';
import { TransactionPage } from './chain/transaction.tsx';
import { TransactionsPage } from './chain/transactions.tsx';
import { later } from './design/later.tsx';
import { Fault, Frame, NoPage } from './frame.tsx';
import { spanSearch } from './series/span.ts';

type Search = Readonly<Record<string, unknown>>;

/** The texts of these search parameters; a number stays its digits, and all others are left out. */
function texts<Name extends string>(...names: readonly Name[]) {
  return (search: Search): { readonly [Each in Name]?: string | undefined } => {
    const given: { [Each in Name]?: string | undefined } = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === 'number' || (typeof value === 'string' && value !== ''))
        given[name] = String(value);
    }
    return given;
  };
}

const older = texts('cursor');

function activitySearch(search: Search) {
  const { direction } = search;
  const isKnown = direction === 'credit' || direction === 'debit';
  return { ...texts('kind', 'cursor')(search), ...(isKnown && { direction }) };
}

/** The path of the newest navigation. */
let newest: string | undefined;

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NoPage,
  // the link shows at once that it was followed; the next page takes longer than a frame
  beforeLoad: ({ cause, location: { pathname } }) => {
    if (cause === 'preload') return undefined;
    const before = newest ?? pathname;
    newest = pathname;
    return before === pathname ? undefined : painted();
  },
});
const getParentRoute = (): typeof root => root;

const home = createRoute({
  getParentRoute,
  path: '/',
  // its presence alone counts
  validateSearch: (search: Search): { readonly wall?: '' } =>
    'wall' in search ? { wall: '' } : {},
  component: HomePage,
});
const block = createRoute({
  getParentRoute,
  path: '/blocks/$id',
  validateSearch: older,
  component: BlockPage,
});
const transactions = createRoute({
  getParentRoute,
  path: '/transactions',
  // block: its height
  validateSearch: texts('type', 'address', 'block', 'cursor'),
  component: TransactionsPage,
});
const transaction = createRoute({
  getParentRoute,
  path: '/transactions/$hash',
  validateSearch: older,
  component: TransactionPage,
});
// pages with plots
const account = createRoute({
  getParentRoute,
  path: '/accounts/$address',
  validateSearch: activitySearch,
  component: later('account', async () => (await import('./chain/account.tsx')).AccountPage),
});
const validators = createRoute({
  getParentRoute,
  path: '/validators',
  validateSearch: spanSearch,
  component: later(
    'validators',
    async () => (await import('./chain/validators.tsx')).ValidatorsPage,
  ),
});
const charts = createRoute({
  getParentRoute,
  path: '/charts',
  validateSearch: spanSearch,
  component: later('charts', async () => (await import('./series/charts.tsx')).ChartsPage),
});
const reserve = createRoute({
  getParentRoute,
  path: '/reserve',
  validateSearch: older,
  component: later('reserve', async () => (await import('./reserve/reserve.tsx')).ReservePage),
});
const run = createRoute({
  getParentRoute,
  path: '/reserve/$run',
  component: later('run', async () => (await import('./reserve/run.tsx')).RunPage),
});

// pages with the map, and with the code of wallets
const market = createRoute({
  getParentRoute,
  path: '/market',
  // hash of the selected ride; latitude, longitude and zoom of the map
  validateSearch: texts('ride', 'at'),
  component: later('market', async () => (await import('./market/market.tsx')).MarketPage),
});
const story = createRoute({
  getParentRoute,
  path: '/market/trips/$hash',
  component: later('story', async () => (await import('./market/story.tsx')).StoryPage),
});
const depositsPage = later(
  'deposits',
  async () => (await import('./deposits/deposits.tsx')).DepositsPage,
);
const deposits = createRoute({ getParentRoute, path: '/deposits', component: depositsPage });
const deposit = createRoute({ getParentRoute, path: '/deposits/$id', component: depositsPage });

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    block,
    transactions,
    transaction,
    account,
    validators,
    charts,
    reserve,
    run,
    market,
    story,
    deposits,
    deposit,
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: Fault,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

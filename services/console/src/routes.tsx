/** The pages by address; docs/development.md says what else a new one needs. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { BlockPage } from './chain/block.tsx';
import { HomePage } from './chain/home.tsx';
import { TransactionPage } from './chain/transaction.tsx';
import { TransactionsPage } from './chain/transactions.tsx';
import { later } from './design/later.tsx';
import { Fault, Frame, NoPage } from './frame.tsx';
import { spanSearch } from './series/span.ts';

type Search = Readonly<Record<string, unknown>>;

/** The text of a search parameter; a number stays its digits. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  return typeof value === 'number' ? String(value) : undefined;
}

interface Older {
  readonly cursor?: string | undefined;
}

function older(search: Search): Older {
  const cursor = textOf(search['cursor']);
  return cursor === undefined ? {} : { cursor };
}

interface ActivitySearch extends Older {
  readonly kind?: string | undefined;
  readonly direction?: 'credit' | 'debit' | undefined;
}

function activitySearch(search: Search): ActivitySearch {
  const kind = textOf(search['kind']);
  const direction = textOf(search['direction']);
  return {
    ...older(search),
    ...(kind !== undefined && { kind }),
    ...((direction === 'credit' || direction === 'debit') && { direction }),
  };
}

interface TransactionSearch extends Older {
  readonly type?: string | undefined;
  readonly address?: string | undefined;
  /** height */
  readonly block?: string | undefined;
}

function transactionSearch(search: Search): TransactionSearch {
  const type = textOf(search['type']);
  const address = textOf(search['address']);
  const block = textOf(search['block']);
  return {
    ...older(search),
    ...(type !== undefined && { type }),
    ...(address !== undefined && { address }),
    ...(block !== undefined && { block }),
  };
}

const root = createRootRoute({ component: Frame, notFoundComponent: NoPage });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  // its presence alone counts
  validateSearch: (search: Search): { readonly wall?: '' } =>
    'wall' in search ? { wall: '' } : {},
  component: HomePage,
});
const block = createRoute({
  getParentRoute: () => root,
  path: '/blocks/$id',
  validateSearch: older,
  component: BlockPage,
});
const transactions = createRoute({
  getParentRoute: () => root,
  path: '/transactions',
  validateSearch: transactionSearch,
  component: TransactionsPage,
});
const transaction = createRoute({
  getParentRoute: () => root,
  path: '/transactions/$hash',
  validateSearch: older,
  component: TransactionPage,
});
// pages with plots
const account = createRoute({
  getParentRoute: () => root,
  path: '/accounts/$address',
  validateSearch: activitySearch,
  component: later('account', async () => (await import('./chain/account.tsx')).AccountPage),
});
const validators = createRoute({
  getParentRoute: () => root,
  path: '/validators',
  validateSearch: spanSearch,
  component: later(
    'validators',
    async () => (await import('./chain/validators.tsx')).ValidatorsPage,
  ),
});
const charts = createRoute({
  getParentRoute: () => root,
  path: '/charts',
  validateSearch: spanSearch,
  component: later('charts', async () => (await import('./series/charts.tsx')).ChartsPage),
});
const reserve = createRoute({
  getParentRoute: () => root,
  path: '/reserve',
  validateSearch: older,
  component: later('reserve', async () => (await import('./reserve/reserve.tsx')).ReservePage),
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/reserve/$run',
  component: later('run', async () => (await import('./reserve/run.tsx')).RunPage),
});

interface MarketSearch {
  /** hash of the selected ride */
  readonly ride?: string | undefined;
  /** latitude, longitude and zoom of the map */
  readonly at?: string | undefined;
}

function marketSearch(search: Search): MarketSearch {
  const ride = textOf(search['ride']);
  const at = textOf(search['at']);
  return { ...(ride !== undefined && { ride }), ...(at !== undefined && { at }) };
}

// pages with the map, and with the code of wallets
const market = createRoute({
  getParentRoute: () => root,
  path: '/market',
  validateSearch: marketSearch,
  component: later('market', async () => (await import('./market/market.tsx')).MarketPage),
});
const story = createRoute({
  getParentRoute: () => root,
  path: '/market/trips/$hash',
  component: later('story', async () => (await import('./market/story.tsx')).StoryPage),
});
const depositsPage = later(
  'deposits',
  async () => (await import('./deposits/deposits.tsx')).DepositsPage,
);
const deposits = createRoute({
  getParentRoute: () => root,
  path: '/deposits',
  component: depositsPage,
});
const deposit = createRoute({
  getParentRoute: () => root,
  path: '/deposits/$id',
  component: depositsPage,
});

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

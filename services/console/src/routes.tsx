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
}

function transactionSearch(search: Search): TransactionSearch {
  const type = textOf(search['type']);
  const address = textOf(search['address']);
  return {
    ...older(search),
    ...(type !== undefined && { type }),
    ...(address !== undefined && { address }),
  };
}

const root = createRootRoute({ component: Frame, notFoundComponent: NoPage });

const home = createRoute({ getParentRoute: () => root, path: '/', component: HomePage });
const block = createRoute({
  getParentRoute: () => root,
  path: '/blocks/$id',
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

/** What resolvers are made from, and what they know of who asks. */
import type { Reader } from '../runtime/postgres/pool.ts';
import type { Balances } from './graphql/balances.ts';
import type { Builders } from './graphql/builders.ts';
import type { Caller } from './http/callers.ts';
import type { ChainParameters } from './graphql/chain-info.ts';
import type { ChainNode } from '../runtime/clt-node.ts';
import type { SignIns } from './graphql/sign-ins.ts';

export interface Hub {
  readonly reader: Reader;
  readonly chain: Pick<ChainParameters, 'info'>;
  readonly node: Pick<ChainNode, 'submit'>;
  readonly balances: Pick<Balances, 'of'>;
  readonly builders: Builders;
  readonly sign_ins: SignIns;
  readonly chain_id: number;
  /** of lists without a limit of their own */
  readonly list_rows_max: number;
}

/** Of one operation. */
export interface HubContext {
  readonly hub: Hub;
  /** undefined: nobody in particular */
  readonly caller: Caller | undefined;
  /** told by what an open subscription shows which news it waits for */
  readonly waitFor?: (news: News) => void;
  /** told which list, by its name in the answer, has more rows than it shows */
  readonly cut?: (list: string) => void;
}

/** News of a list, by the keys of the market's notifications; or of balances. */
export type News =
  | { readonly of: 'market'; readonly isTouchedBy: (key: string) => boolean }
  | { readonly of: 'accounts' };

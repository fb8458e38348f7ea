/**
 * Well-known ways to do the same, in the same run on the same data, their results compared before
 * their speed counts: rebuilds by batched upserts and by emmett, lists and
 * subscriptions by PostGraphile.
 */
import { openLog } from '../../services/runtime/process/log.ts';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { checkedBy } from './check-rows.ts';
import { settle, useMemory, vacuum } from './databases.ts';
import { measureDeliveries, type Peer } from './deliveries.ts';
import { fillTopic } from './fill-topic.ts';
import { HubMarket } from './hub-market.ts';
import { measureLists } from './peer-lists.ts';
import { measureRebuilds } from './peer-rebuilds.ts';
import { hubRequest, REQUEST_FIELDS } from './postgraphile-fields.ts';
import type { BenchReport } from './report.ts';
import { startSideServer } from './side-server.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option =
  | 'transactions'
  | 'rounds'
  | 'connections'
  | 'seconds'
  | 'requests'
  | 'sockets'
  | 'changes'
  | 'seed';

export const peers: Bench<Option> = {
  about: 'loads against batched upserts and emmett, lists and subscriptions against PostGraphile',
  options: {
    transactions: { about: 'on the generated chain', default: 300_000 },
    rounds: { about: 'of each way, in turns', default: 5 },
    connections: { about: 'kept alive, each with one request in flight', default: 8 },
    seconds: { about: 'of a round of one list at one server', default: 3 },
    requests: { about: 'open in the ride market', default: 50 },
    sockets: { about: 'with one subscription each', default: 500 },
    changes: { about: 'of the market in a round of deliveries', default: 5 },
    seed: { about: 'of the chain and of the market', default: 1 },
  },
  run,
};

async function run(given: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const { transactions, seed, connections, requests, sockets } = given;
  const stack = await startStack();
  const stops: (() => Promise<unknown>)[] = [];
  try {
    await useMemory(stack);
    const filled = await fillTopic(stack.addresses, { transactions, seed }, log, say);
    const { database, ...rebuilds } = await measureRebuilds(stack, filled, given);

    const { redis_url: redisUrl } = stack.addresses;
    const market = await HubMarket.open(database, redisUrl, requests, seed);
    stops.push(() => market.close());
    await vacuum(stack, database);
    const devnet = { APP_TRAFFIC_PER_SECOND: '0', APP_LOG_LEVEL: 'warn' };
    await (await stack.spawnService('devnet', devnet)).ready();
    const settings = {
      APP_POSTGRES_READER_URL: database.reader_url,
      APP_RATE_PER_SECOND: '0',
      APP_LOG_LEVEL: 'warn',
    };
    const explorer = await stack.spawnService('explorer-gateway', {
      ...settings,
      APP_ANSWERS_KEPT_MAX: '0',
    });
    await explorer.ready();
    const hub = await stack.spawnService('hub-gateway', settings);
    await hub.ready();
    const postgraphile = await startSideServer(
      stack,
      'PostGraphile',
      'postgraphile-server.ts',
      [database.reader_url],
      answersGraphql,
    );
    stops.push(postgraphile.stop);
    const subscribed: Peer = {
      name: 'PostGraphile',
      server: postgraphile,
      path: '/graphql',
      query: `subscription{rideRequestsUpdated{${REQUEST_FIELDS}}}`,
      hasSnapshot: true,
      toItem: hubRequest,
      goal: '<= 1',
    };
    for (const server of ['kafka', 'registry'] as const) await stack.servers[server].stop();
    await settle(stack);

    const parts = [
      rebuilds,
      await measureLists({ explorer, hub, postgraphile }, market, filled.counts, given),
      await measureDeliveries(hub, [subscribed], market, given),
    ];
    return {
      bench: 'peers',
      about: `${transactions} transactions in ${filled.counts.blocks} blocks; in every round ${checkedBy({ transactions, seed })}, and the rows of peers with those; ${connections} kept-alive connections; the explorer keeps no answers, the hub its own until the market changes, ten times a second; ${sockets} sockets; every process in production mode; the load from this process, on as few processors as there are`,
      measured: parts.flatMap(({ measured }) => measured),
      ratios: parts.flatMap(({ ratios }) => ratios),
    };
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await stack.stop();
  }
}

async function answersGraphql(url: string): Promise<boolean> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ __typename }"}',
  });
  await response.arrayBuffer();
  return response.ok;
}

/**
 * `node postgraphile-server.ts <port> <postgres url of the reader>`: PostGraphile on the tables of
 * the explorer and of the ride market, as its documentation says: the Amber preset, smart tags for
 * keys that the tables do not declare, and a subscription by LISTEN. It sends a list at once and
 * again after each NOTIFY of `ride_market`. Its sessions have the settings of a gateway's.
 */
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { constant, context, listen } from 'postgraphile/grafast';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { extendSchema, gql, jsonPgSmartTags } from 'postgraphile/utils';
import { READER_OPTIONS } from '../../services/runtime/postgres/pool.ts';

/** As many as the gateway has when it is not told otherwise. */
const CONNECTIONS = 8;

const [port, connectionString = ''] = process.argv.slice(2);

const keys = jsonPgSmartTags({
  version: 1,
  config: {
    class: {
      'explorer.transactions': { tags: { primaryKey: 'seq' } },
      'explorer.account_transactions': {
        tags: {
          primaryKey: 'address,ordinal',
          foreignKey: [
            '(seq) references explorer.transactions (seq)',
            '(address) references explorer.accounts (address)',
          ],
        },
      },
    },
  },
});

const subscription = extendSchema((build) => ({
  typeDefs: gql`
    extend type Subscription {
      rideRequestsUpdated: [RideMarketOpenRequest!]
    }
  `,
  objects: {
    Subscription: {
      plans: {
        rideRequestsUpdated: {
          subscribePlan: () =>
            listen(context().get('pgSubscriber'), 'ride_market', undefined, constant('{}')),
          plan: () => {
            const $requests = build.pgResources['ride_market_open_requests']?.find();
            for (const attribute of ['height', 'tx_index'])
              $requests?.orderBy({ attribute, direction: 'DESC' });
            return $requests;
          },
        },
      },
    },
  },
}));

const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [keys, subscription],
  disablePlugins: ['PgMutationCreatePlugin', 'PgMutationUpdateDeletePlugin'],
  grafserv: { websockets: true, graphiql: false },
  pgServices: [
    makePgService({
      connectionString,
      schemas: ['explorer', 'ride_market'],
      poolConfig: { max: CONNECTIONS, options: READER_OPTIONS },
    }),
  ],
});
const server = createServer();
await service.createServ(grafserv).addTo(server);
server.listen(Number(port), '127.0.0.1');

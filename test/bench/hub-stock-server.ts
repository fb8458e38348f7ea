/**
 * `node hub-stock-server.ts <port> <postgres url of the reader> <redis url>`: the hub's list as in
 * the documentation of Apollo Server, its Express integration, graphql-ws and
 * graphql-subscriptions, with default options. It keeps the list in memory, and reads it once for
 * all subscribers when it changes.
 */
import { createServer } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { buildSchema } from 'graphql';
import { PubSub } from 'graphql-subscriptions';
import { useServer } from 'graphql-ws/use/ws';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { WebSocketServer } from 'ws';
import { rideRequests } from '../../projections/ride-market/queries.ts';
import { requestObject } from '../../services/hub-gateway/graphql/lists.ts';
import { HUB_SDL } from '../../services/hub-gateway/graphql/schema.ts';

const [port, postgresUrl, redisUrl = ''] = process.argv.slice(2);
const pool = new Pool({
  connectionString: postgresUrl,
  max: 1,
  types: { getTypeParser: () => (text: string) => text },
});
const { text, values } = rideRequests(undefined, 10_000);
const read = async (): Promise<readonly object[]> => {
  const query = { text, values: [...values], rowMode: 'array' };
  const { rows } = await pool.query<(string | null)[]>(query);
  return rows.map(requestObject);
};
let list = await read();

const CHANGED = 'projection:ride_market';
const pubsub = new PubSub();
const redis = new Redis(redisUrl);
await redis.subscribe(CHANGED);
const tell = async (): Promise<void> => {
  list = await read();
  await pubsub.publish(CHANGED, undefined);
};
redis.on('message', () => void tell());

const schema = buildSchema(HUB_SDL);
Object.assign(schema.getQueryType()?.getFields()['listRideRequests'] ?? {}, {
  resolve: () => list,
});
Object.assign(schema.getSubscriptionType()?.getFields()['rideRequestsUpdated'] ?? {}, {
  subscribe: () => pubsub.asyncIterableIterator(CHANGED),
  resolve: () => list,
});

const apollo = new ApolloServer({ schema });
await apollo.start();
const app = express();
app.use('/graphql', express.json(), expressMiddleware(apollo));
const server = createServer(app);
useServer({ schema }, new WebSocketServer({ server, path: '/graphql/ws' }));
server.listen(Number(port), '127.0.0.1');

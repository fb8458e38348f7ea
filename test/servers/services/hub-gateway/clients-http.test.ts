/** Clients of GraphQL over HTTP, as they come. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { answerOf, HubWorld, type GraphqlAnswer } from '../../../services/hub-gateway/hub-world.ts';

let world: HubWorld;
beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
});
afterAll(() => world.close());

function codes({ errors }: GraphqlAnswer): unknown {
  return errors.map(({ extensions }) => extensions?.code);
}

const SUBSCRIPTION = 'subscription S { rideRequestsUpdated { txHash } }';

test.each([
  ['alone', { query: SUBSCRIPTION }],
  ['by its name', { query: SUBSCRIPTION, operationName: 'S' }],
  ['among others', { query: `query Q { __typename } ${SUBSCRIPTION}`, operationName: 'S' }],
  ['before others', { query: `${SUBSCRIPTION} query Q { __typename }`, operationName: 'S' }],
  [
    'in a fragment',
    { query: 'subscription { ...F } fragment F on Subscription { activeTripsUpdated { fare } }' },
  ],
  [
    'without its variables',
    { query: 'subscription ($key: String!) { accountBalanceUpdated(publicKey: $key) }' },
  ],
] as const)(
  'a subscription over HTTP is refused with the address of the sockets: %s',
  async (_how, operation) => {
    for (const accept of [
      '*/*',
      'application/graphql-response+json',
      'text/event-stream',
      'multipart/mixed;subscriptionSpec=1.0, application/json',
    ]) {
      const answers = [
        await world.post(JSON.stringify(operation), { accept }),
        await answerOf(
          await fetch(`${world.url}/graphql?${new URLSearchParams(operation).toString()}`, {
            headers: { accept },
          }),
        ),
      ];
      for (const answer of answers) {
        expect([answer.status, codes(answer)]).toEqual([400, ['BAD_USER_INPUT']]);
        expect(answer.text).toContain('subscriptions are at /graphql/ws');
      }
    }
  },
);

test('a query beside a subscription is answered', async () => {
  const query = `${SUBSCRIPTION} query Q { __typename }`;
  const { data } = await world.post(JSON.stringify({ query, operationName: 'Q' }));
  expect(data).toEqual({ __typename: 'Query' });
});

import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { walletOf } from '../../../support/wallets.ts';
import { Watching } from '../../../services/hub-gateway/watching.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';

const REQUESTS =
  '{ listRideRequests { txHash fare passengerAddress referrer pickupLocation { latitude longitude } dropoffLocation { latitude longitude } } }';
const TRIP =
  'txHash rideOfferTxHash rideRequestTxHash fare farePaid driverAddress passengerAddress pickupLocation { latitude longitude }';

const rider = walletOf('browser', 'rider');
const driver = walletOf('tron', 'driver');
let world: HubWorld;
let riderToken: string;
let driverToken: string;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'), {
    settings: { APP_REQUEST_REFERRER: `0x${'ab'.repeat(20)}` },
  });
  await world.fund(rider.account, 50_000_000n);
  await world.fund(driver.account, 50_000_000n);
  riderToken = await world.signIn(rider);
  driverToken = await world.signIn(driver);
});
afterAll(() => world.close());

async function list(query: string): Promise<unknown> {
  const { data, errors } = await world.ask(query);
  expect(errors).toEqual([]);
  return Object.values(data ?? {})[0];
}

async function balance(token: string): Promise<bigint> {
  const { data } = await world.ask('{ accountBalance }', {}, token);
  return BigInt(String(data?.['accountBalance']));
}

const request = (fare: number): string =>
  `createUnsignedRideRequest(pickupLatitude: 52.52, pickupLongitude: -13.405, dropoffLatitude: 0.1234567, dropoffLongitude: 180, fare: "${fare}")`;

async function accepted(
  fare: number,
): Promise<{ readonly requested: string; readonly offered: string; readonly trip: string }> {
  const requested = await world.send(rider, riderToken, request(fare));
  await world.block();
  const offered = await world.send(
    driver,
    driverToken,
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "${fare + 1}")`,
  );
  await world.block();
  const trip = await world.send(
    rider,
    riderToken,
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  await world.block();
  return { requested, offered, trip };
}

test('a browser wallet and a TRON wallet complete a ride: request, offer, acceptance, two payments', async () => {
  const requested = await world.send(rider, riderToken, request(1_000_000));
  await expect.poll(() => list(REQUESTS)).toEqual([]);
  await world.block();
  await expect
    .poll(() => list(REQUESTS))
    .toEqual([
      {
        txHash: requested,
        fare: '1000000',
        passengerAddress: rider.account,
        referrer: `0x${'ab'.repeat(20)}`,
        pickupLocation: { latitude: 52.52, longitude: -13.405 },
        dropoffLocation: { latitude: 0.1234567, longitude: 180 },
      },
    ]);
  const offered = await world.send(
    driver,
    driverToken,
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "2000000")`,
  );
  await world.block();
  const offers = `{ listRideOffers(rideRequestTxHash: "${requested}") { txHash rideRequestTxHash fare driverAddress referrer } }`;
  await expect
    .poll(() => list(offers))
    .toEqual([
      {
        txHash: offered,
        rideRequestTxHash: requested,
        fare: '2000000',
        driverAddress: driver.account,
        referrer: null,
      },
    ]);
  const trip = await world.send(
    rider,
    riderToken,
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  await world.block();
  await expect.poll(() => list(REQUESTS)).toEqual([]);
  await expect.poll(() => list(offers)).toEqual([]);
  const active = {
    txHash: trip,
    rideOfferTxHash: offered,
    rideRequestTxHash: requested,
    fare: '2000000',
    farePaid: '0',
    driverAddress: driver.account,
    passengerAddress: rider.account,
    pickupLocation: { latitude: 52.52, longitude: -13.405 },
  };
  await expect.poll(() => list(`{ listActiveTrips { ${TRIP} } }`)).toEqual([active]);

  await world.send(
    rider,
    riderToken,
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "500000")`,
  );
  await world.block();
  await expect
    .poll(() => list(`{ listActiveTrips(driverAddress: "${driver.account}") { ${TRIP} } }`))
    .toEqual([{ ...active, farePaid: '500000' }]);
  await expect
    .poll(() => list(`{ listActiveTrips(driverAddress: "${rider.account}") { ${TRIP} } }`))
    .toEqual([]);

  const before = await balance(riderToken);
  await world.send(
    rider,
    riderToken,
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "9000000")`,
  );
  await world.block();
  await expect.poll(() => list(`{ listActiveTrips { ${TRIP} } }`)).toEqual([]);
  const completed = { ...active, farePaid: '2000000' };
  await expect.poll(() => list(`{ listCompletedTrips { ${TRIP} } }`)).toEqual([completed]);
  await expect
    .poll(() =>
      list(`{ listRecentTrips(passengerAddress: "${rider.account}") { ${TRIP} tripStatus } }`),
    )
    .toEqual([{ ...completed, tripStatus: 'completed' }]);
  // the fare is in escrow since the acceptance: the payment costs the fee alone
  expect(before - (await balance(riderToken))).toBe(1_000n);
});

test('a trip is cancelled and refunded, a request is cancelled, and CLT is burned', async () => {
  const { trip } = await accepted(3_000_000);
  await world.send(
    driver,
    driverToken,
    `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}")`,
  );
  const before = await balance(riderToken);
  await world.block();
  expect((await balance(riderToken)) - before).toBe(3_000_001n);
  await expect
    .poll(() => list('{ listRecentTrips(limit: 1) { txHash tripStatus } }'))
    .toEqual([{ txHash: trip, tripStatus: 'cancelled' }]);
  const again = await world.ask(
    `mutation { createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}") }`,
    {},
    riderToken,
  );
  expect(again.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);

  const requested = await world.send(rider, riderToken, request(7));
  await world.block();
  await world.send(
    rider,
    riderToken,
    `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${requested}")`,
  );
  await world.block();
  await expect.poll(() => list(REQUESTS)).toEqual([]);

  const had = await balance(riderToken);
  await world.send(
    rider,
    riderToken,
    `createUnsignedBurn(amount: "5", redemptionRef: "${'cd'.repeat(32)}")`,
  );
  await world.block();
  expect(had - (await balance(riderToken))).toBe(1_005n);
});

const RIDE = 'status rideRequestTxHash tripTxHash fare farePaid steps { step txHash amount }';

test('a ride is told step by step by each of its hashes, and its subscription follows it', async () => {
  const { requested, offered, trip } = await accepted(400);
  const steps = [
    { step: 'requested', txHash: requested, amount: '400' },
    { step: 'offered', txHash: offered, amount: '401' },
    { step: 'accepted', txHash: trip, amount: '401' },
  ];
  const ride = {
    status: 'active',
    rideRequestTxHash: requested,
    tripTxHash: trip,
    fare: '401',
    farePaid: '0',
    steps,
  };
  for (const hash of [requested, offered, trip])
    await expect.poll(() => list(`{ ride(txHash: "${hash}") { ${RIDE} } }`)).toEqual(ride);
  const watching = new Watching(world.url, riderToken);
  const { official } = watching.watch(
    `subscription { rideUpdated(txHash: "${trip}") { ${RIDE} } }`,
  );
  await expect.poll(() => official).toEqual([ride]);
  const paid = await world.send(
    rider,
    riderToken,
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "150")`,
  );
  await world.block();
  steps.push({ step: 'paid', txHash: paid, amount: '150' });
  await expect.poll(() => official.at(1)).toEqual({ ...ride, farePaid: '150' });
  const cancelled = await world.send(
    driver,
    driverToken,
    `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}")`,
  );
  await world.block();
  await expect
    .poll(() => official.at(2))
    .toEqual({
      ...ride,
      status: 'cancelled',
      farePaid: '150',
      steps: [...steps, { step: 'cancelled', txHash: cancelled, amount: null }],
    });
  await watching.close();
  expect(await list(`{ ride(txHash: "0x${'00'.repeat(32)}") { status } }`)).toBeNull();
});

test('a transaction is refused to other callers and in other states', async () => {
  const { requested, offered, trip } = await accepted(100);
  const stranger = walletOf('raw', 'stranger');
  const strangerToken = await world.signIn(stranger);
  const open = await world.send(rider, riderToken, request(9));
  await world.block();
  const unknown = `0x${'00'.repeat(32)}`;
  const rows: readonly (readonly [string, string, string])[] = [
    [
      riderToken,
      `createUnsignedRideOffer(rideRequestTransactionHash: "${open}", fare: "1")`,
      'FORBIDDEN',
    ],
    [
      driverToken,
      `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "1")`,
      'BAD_USER_INPUT',
    ],
    [
      driverToken,
      `createUnsignedRideOffer(rideRequestTransactionHash: "${unknown}", fare: "1")`,
      'NOT_FOUND',
    ],
    [
      driverToken,
      `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
      'FORBIDDEN',
    ],
    [
      riderToken,
      `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
      'BAD_USER_INPUT',
    ],
    [
      riderToken,
      `createUnsignedRideAcceptance(rideOfferTransactionHash: "${unknown}")`,
      'NOT_FOUND',
    ],
    [
      driverToken,
      `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "1")`,
      'FORBIDDEN',
    ],
    [
      riderToken,
      `createUnsignedRidePay(rideAcceptanceTransactionHash: "${unknown}", fare: "1")`,
      'NOT_FOUND',
    ],
    [
      strangerToken,
      `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}")`,
      'FORBIDDEN',
    ],
    [
      strangerToken,
      `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${open}")`,
      'FORBIDDEN',
    ],
    [
      riderToken,
      `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${requested}")`,
      'BAD_USER_INPUT',
    ],
    [
      riderToken,
      `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${trip}")`,
      'NOT_FOUND',
    ],
  ];
  for (const [token, field, code] of rows) {
    const { status, errors } = await world.ask(`mutation { ${field} }`, {}, token);
    expect([field, status, errors[0]?.extensions?.code]).toEqual([field, 200, code]);
  }
});

test('an unsigned transaction names the caller, the chain and the nonce after pending transactions', async () => {
  const unsigned = async (): Promise<unknown> =>
    (await world.ask(`mutation { ${request(11)} }`, {}, driverToken)).data?.[
      'createUnsignedRideRequest'
    ];
  const first = await unsigned();
  const { nonce } = world.devnet.devnet.node.chain.mempool.account(driver.account);
  expect(first).toEqual({
    from: driver.account,
    nonce,
    chain_id: 7777,
    data: {
      function_call_type: 'RideRequest',
      arguments: {
        pickup_lat: '52.52',
        pickup_lng: '-13.405',
        dropoff_lat: '0.1234567',
        dropoff_lng: '180',
        fare: '11',
        referrer: `0x${'ab'.repeat(20)}`,
      },
    },
  });
  await world.send(driver, driverToken, request(12));
  expect(await unsigned()).toMatchObject({ nonce: nonce + 1 });
});

test('chainInfo shows the parameters at the start of the hub', async () => {
  const parameters = '{ chainInfo { chainId isTestnet txFee totalSupply mintAuthority } }';
  const { node } = world.devnet.devnet;
  const info = await list(parameters);
  expect(info).toEqual({
    chainId: '7777',
    isTestnet: true,
    txFee: '1000',
    totalSupply: String(node.genesis.allocation),
    mintAuthority: node.genesis.cast.mint_authority.address,
  });
  expect(await list(parameters)).toEqual(info);
});

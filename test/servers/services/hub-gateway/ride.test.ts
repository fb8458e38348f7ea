/** The life cycle of a ride as specified, over HTTP and on sockets, by three kinds of wallets. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { walletOf, type TestWallet } from '../../../support/wallets.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { Watching, type Watched } from '../../../services/hub-gateway/watching.ts';

const WALLETS = {
  bare: walletOf('raw', 'watched bare'),
  browser: walletOf('browser', 'watched browser'),
  tron: walletOf('tron', 'watched tron'),
};
type Who = keyof typeof WALLETS;
const REFERRER = `0x${'ab'.repeat(20)}`;
const PLACE =
  'pickupLatitude: 1, pickupLongitude: -1.5, dropoffLatitude: 0.1234567, dropoffLongitude: 180';
const PLACES = {
  pickupLocation: { latitude: 1, longitude: -1.5 },
  dropoffLocation: { latitude: 0.1234567, longitude: 180 },
};
const PLACE_FIELDS = 'pickupLocation { latitude longitude } dropoffLocation { latitude longitude }';

let world: HubWorld;
let watching: Watching;
const tokens = new Map<TestWallet, string>();

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'), {
    settings: { APP_REQUEST_REFERRER: REFERRER },
  });
  for (const wallet of Object.values(WALLETS)) {
    await world.fund(wallet.account, 50_000_000n);
    tokens.set(wallet, await world.signIn(wallet));
  }
  watching = new Watching(world.url, tokens.get(WALLETS.bare) ?? '');
});
afterAll(async () => {
  await watching.close();
  await world.close();
  // of all tests
  expect(world.lines).toEqual([]);
});

interface List {
  readonly subscription: string;
  readonly query: string;
}

function list(name: string, args: string, fields: string): List {
  const given = args === '' ? '' : `(${args})`;
  const query = `list${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return {
    subscription: `subscription { ${name}Updated${given} ${fields} }`,
    query: `{ ${query}${given} ${fields} }`,
  };
}

function balance(who: Who): List {
  const args = `(publicKey: "${WALLETS[who].account}")`;
  return {
    subscription: `subscription { accountBalanceUpdated${args} }`,
    query: `{ accountBalance${args} }`,
  };
}

const BALANCES: readonly Who[] = ['bare', 'browser', 'tron'];
const NEAR = 'bounds: { minLat: 0, maxLat: 2, minLng: -2, maxLng: 0 }';
const FAR = 'bounds: { minLat: 10, maxLat: 20, minLng: -2, maxLng: 0 }';
const OFFER = '{ txHash rideRequestTxHash fare driverAddress referrer }';
const TRIP = `txHash rideOfferTxHash rideRequestTxHash ${PLACE_FIELDS} fare farePaid driverAddress passengerAddress`;
/** Each list with all fields of its type, and again with each of its filters. */
const LISTS: Readonly<Record<string, List>> = {
  requests: list('rideRequests', '', `{ txHash ${PLACE_FIELDS} fare passengerAddress referrer }`),
  near: list('rideRequests', NEAR, '{ txHash }'),
  far: list('rideRequests', FAR, '{ txHash }'),
  active: list('activeTrips', '', `{ ${TRIP} }`),
  driven: list('activeTrips', `driverAddress: "${WALLETS.tron.account}"`, '{ txHash farePaid }'),
  ridden: list('activeTrips', `passengerAddress: "${WALLETS.tron.account}"`, '{ txHash }'),
  completed: list('completedTrips', '', `{ ${TRIP} }`),
  recent: list('recentTrips', '', `{ ${TRIP} tripStatus }`),
  own: list(
    'recentTrips',
    `passengerAddress: "${WALLETS.browser.account}"`,
    '{ txHash tripStatus }',
  ),
};

/** The watched lists and balances, with each state that they had. */
class Story {
  readonly #lists = new Map<
    string,
    { readonly list: List; readonly watched: Watched; readonly states: unknown[] }
  >();

  async begin(name: string, what: List, state: unknown): Promise<void> {
    this.#lists.set(name, {
      list: what,
      watched: watching.watch(what.subscription),
      states: [state],
    });
    await this.holds();
  }

  /** The given lists and balances have these states now; the others are unchanged. */
  async goesOn(changes: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [name, state] of Object.entries(changes)) this.#lists.get(name)?.states.push(state);
    for (const who of BALANCES) {
      const states = this.#lists.get(`balance ${who}`)?.states ?? [];
      const now = await nodeBalance(who);
      if (states.at(-1) !== now) states.push(now);
    }
    await this.holds();
  }

  /** Both clients received every state in order, and queries show the latest. */
  async holds(): Promise<void> {
    for (const [name, { list: asked, watched, states }] of this.#lists) {
      await expect.poll(() => [name, watched.official]).toEqual([name, states]);
      await expect.poll(() => [name, watched.apollo]).toEqual([name, states]);
      const newest = states.at(-1);
      expect([name, ...(await watching.ask(asked.query))]).toEqual([name, newest, newest]);
    }
  }
}

/** From the node. */
async function nodeBalance(who: Who): Promise<string> {
  const { body } = await world.devnet.get(`/v1/accounts/${WALLETS[who].account}`);
  if (typeof body !== 'object' || body === null || !('balance' in body))
    throw new Error(JSON.stringify(body));
  return String(body.balance);
}

async function sends(who: Who, field: string): Promise<string> {
  const hash = await world.send(WALLETS[who], tokens.get(WALLETS[who]) ?? '', field);
  await world.block();
  return hash;
}

function requestOf(who: Who, txHash: string, fare: string): object {
  const { account: passengerAddress } = WALLETS[who];
  return { txHash, ...PLACES, fare, passengerAddress, referrer: REFERRER };
}

async function refusalOf(who: Who, field: string): Promise<unknown> {
  const { status, errors } = await world.ask(`mutation { ${field} }`, {}, tokens.get(WALLETS[who]));
  return [field, status, errors[0]?.extensions?.code];
}

function cancel(hash: string): string {
  return `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${hash}")`;
}

test('both clients see every state of every list in order while three kinds of wallets ride, cancel and burn', async () => {
  const story = new Story();
  for (const [name, each] of Object.entries(LISTS)) await story.begin(name, each, []);
  for (const who of BALANCES) await story.begin(`balance ${who}`, balance(who), '50000000');

  // RideRequest: an open request
  const requested = await sends('bare', `createUnsignedRideRequest(${PLACE}, fare: "100")`);
  const near = [{ txHash: requested }];
  await story.goesOn({ requests: [requestOf('bare', requested, '100')], near });
  await story.begin('offers', list('rideOffers', `rideRequestTxHash: "${requested}"`, OFFER), []);
  // RideOffer: the request gains an offer
  const offered = await sends(
    'tron',
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "90")`,
  );
  const driverAddress = WALLETS.tron.account;
  await story.goesOn({
    offers: [
      { txHash: offered, rideRequestTxHash: requested, fare: '90', driverAddress, referrer: null },
    ],
  });
  // RideAcceptance: an active trip
  const trip = await sends(
    'bare',
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  const unpaid = {
    txHash: trip,
    rideOfferTxHash: offered,
    rideRequestTxHash: requested,
    ...PLACES,
    fare: '90',
    farePaid: '0',
    driverAddress,
    passengerAddress: WALLETS.bare.account,
  };
  await story.goesOn({
    requests: [],
    near: [],
    offers: [],
    active: [unpaid],
    driven: [{ txHash: trip, farePaid: '0' }],
  });
  // RidePay, partial: still active
  const pay = (fare: number): string =>
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "${fare}")`;
  await sends('bare', pay(40));
  const partial = { txHash: trip, farePaid: '40' };
  await story.goesOn({ active: [{ ...unpaid, ...partial }], driven: [partial] });
  // RidePay that reaches the fare, and no more is taken: completed
  const unspent = BigInt(await nodeBalance('bare'));
  await sends('bare', pay(5_000));
  const completed = { ...unpaid, farePaid: '90' };
  const over = { ...completed, tripStatus: 'completed' };
  await story.goesOn({ active: [], driven: [], completed: [completed], recent: [over] });
  // the fare is in escrow since the acceptance: the payment costs the fee alone
  expect(unspent - BigInt(await nodeBalance('bare'))).toBe(1_000n);
  // RideCancel after full payment: rejected
  expect(await refusalOf('bare', cancel(trip))).toEqual([cancel(trip), 200, 'BAD_USER_INPUT']);

  const second = await sends('browser', `createUnsignedRideRequest(${PLACE}, fare: "1000000")`);
  await story.goesOn({
    requests: [requestOf('browser', second, '1000000')],
    near: [{ txHash: second }],
  });
  const offer = await sends(
    'tron',
    `createUnsignedRideOffer(rideRequestTransactionHash: "${second}", fare: "2000000")`,
  );
  await story.goesOn({});
  const before = BigInt(await nodeBalance('browser'));
  const cancelled = await sends(
    'browser',
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offer}")`,
  );
  const waiting = {
    ...unpaid,
    txHash: cancelled,
    rideOfferTxHash: offer,
    rideRequestTxHash: second,
    fare: '2000000',
    passengerAddress: WALLETS.browser.account,
  };
  await story.goesOn({
    requests: [],
    near: [],
    active: [waiting],
    driven: [{ txHash: cancelled, farePaid: '0' }],
  });
  // the fare goes into escrow, and an acceptance costs no fee
  expect(before - BigInt(await nodeBalance('browser'))).toBe(2_000_000n);
  // RideCancel before full payment: cancelled, and the unpaid fare is refunded
  await sends('tron', cancel(cancelled));
  const gone = { txHash: cancelled, tripStatus: 'cancelled' };
  await story.goesOn({
    active: [],
    driven: [],
    recent: [{ ...waiting, ...gone }, over],
    own: [gone],
  });
  expect(BigInt(await nodeBalance('browser'))).toBe(before);
  expect(await refusalOf('browser', cancel(cancelled))).toEqual([
    cancel(cancelled),
    200,
    'BAD_USER_INPUT',
  ]);

  // RideRequestCancel: no request any more
  const third = await sends('tron', `createUnsignedRideRequest(${PLACE}, fare: "7")`);
  await story.goesOn({ requests: [requestOf('tron', third, '7')], near: [{ txHash: third }] });
  await sends('tron', `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${third}")`);
  await story.goesOn({ requests: [], near: [] });

  const had = BigInt(await nodeBalance('browser'));
  await sends('browser', `createUnsignedBurn(amount: "5", redemptionRef: "${'cd'.repeat(32)}")`);
  await story.goesOn({});
  expect(had - BigInt(await nodeBalance('browser'))).toBe(1_005n);
});

test('both clients see a reorganisation on every subscription', async () => {
  const parts = { requests: LISTS['requests'], near: LISTS['near'], bare: balance('bare') };
  const watched = Object.values(parts).map((each) => ({
    query: each?.query ?? '',
    seen: watching.watch(each?.subscription ?? ''),
  }));
  for (let more = 1; more <= 3; more++) {
    for (const who of BALANCES) {
      await world.send(
        WALLETS[who],
        tokens.get(WALLETS[who]) ?? '',
        `createUnsignedRideRequest(${PLACE}, fare: "${more}")`,
      );
    }
    await world.block();
  }
  const newest = async (): Promise<readonly unknown[]> =>
    await Promise.all(watched.map(async ({ query }) => (await watching.ask(query))[1]));
  const agrees = async (): Promise<void> => {
    const now = await newest();
    await expect.poll(() => watched.map(({ seen }) => seen.official.at(-1))).toEqual(now);
    await expect.poll(() => watched.map(({ seen }) => seen.apollo.at(-1))).toEqual(now);
  };
  await agrees();
  const lists = new Set<string>();
  for (const depth of [1, 3, 2]) {
    await world.reorganise(depth);
    await agrees();
    lists.add(JSON.stringify(watched[0]?.seen.official.at(-1)));
    await world.block();
    await agrees();
  }
  expect(lists.size).toBeGreaterThan(1);
});

const request = (fare: number): string => `createUnsignedRideRequest(${PLACE}, fare: "${fare}")`;

interface Accepted {
  readonly requested: string;
  readonly offered: string;
  readonly trip: string;
}

async function accepted(fare: number): Promise<Accepted> {
  const requested = await sends('browser', request(fare));
  const offered = await sends(
    'tron',
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "${fare + 1}")`,
  );
  const trip = await sends(
    'browser',
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  return { requested, offered, trip };
}

async function answered(query: string): Promise<unknown> {
  const { data, errors } = await world.ask(query);
  expect(errors).toEqual([]);
  return Object.values(data ?? {})[0];
}

const RIDE = 'status rideRequestTxHash tripTxHash fare farePaid steps { step txHash amount }';

test('a ride is told step by step by the hash of each step, and its subscription follows it', async () => {
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
    await expect.poll(() => answered(`{ ride(txHash: "${hash}") { ${RIDE} } }`)).toEqual(ride);
  const { official } = watching.watch(
    `subscription { rideUpdated(txHash: "${trip}") { ${RIDE} } }`,
  );
  await expect.poll(() => official).toEqual([ride]);
  const paid = await sends(
    'browser',
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "150")`,
  );
  steps.push({ step: 'paid', txHash: paid, amount: '150' });
  await expect.poll(() => official.at(1)).toEqual({ ...ride, farePaid: '150' });
  const cancelled = await sends(
    'tron',
    `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${trip}")`,
  );
  const ended = {
    ...ride,
    status: 'cancelled',
    farePaid: '150',
    steps: [...steps, { step: 'cancelled', txHash: cancelled, amount: null }],
  };
  await expect.poll(() => official.at(2)).toEqual(ended);
  for (const { txHash } of ended.steps)
    expect(await answered(`{ ride(txHash: "${txHash}") { ${RIDE} } }`)).toEqual(ended);
  expect(await answered(`{ ride(txHash: "0x${'00'.repeat(32)}") { status } }`)).toBeNull();
});

test('a transaction is refused to other callers and in other states', async () => {
  const { requested, offered, trip } = await accepted(100);
  const stranger = walletOf('raw', 'stranger');
  const strangerToken = await world.signIn(stranger);
  const open = await sends('browser', request(9));
  const riderToken = tokens.get(WALLETS.browser) ?? '';
  const driverToken = tokens.get(WALLETS.tron) ?? '';
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
  const driver = WALLETS.tron;
  const driverToken = tokens.get(driver) ?? '';
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
        pickup_lat: '1',
        pickup_lng: '-1.5',
        dropoff_lat: '0.1234567',
        dropoff_lng: '180',
        fare: '11',
        referrer: REFERRER,
      },
    },
  });
  await world.send(driver, driverToken, request(12));
  expect(await unsigned()).toMatchObject({ nonce: nonce + 1 });
});

test('chainInfo shows the parameters at the start of the hub', async () => {
  const parameters = '{ chainInfo { chainId isTestnet txFee totalSupply mintAuthority } }';
  const { node } = world.devnet.devnet;
  const info = await answered(parameters);
  expect(info).toEqual({
    chainId: '7777',
    isTestnet: true,
    txFee: '1000',
    totalSupply: String(node.genesis.allocation),
    mintAuthority: node.genesis.cast.mint_authority.address,
  });
  expect(await answered(parameters)).toEqual(info);
});

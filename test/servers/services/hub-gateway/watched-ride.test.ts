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
const PLACE = 'pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2';

let world: HubWorld;
let watching: Watching;
const tokens = new Map<TestWallet, string>();

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
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
const NEAR = 'bounds: { minLat: 0, maxLat: 2, minLng: 0, maxLng: 2 }';
const FAR = 'bounds: { minLat: 10, maxLat: 20, minLng: 0, maxLng: 2 }';
const LISTS: Readonly<Record<string, List>> = {
  requests: list('rideRequests', '', '{ txHash fare passengerAddress }'),
  near: list('rideRequests', NEAR, '{ txHash }'),
  far: list('rideRequests', FAR, '{ txHash }'),
  active: list('activeTrips', '', '{ txHash fare farePaid }'),
  driven: list('activeTrips', `driverAddress: "${WALLETS.tron.account}"`, '{ txHash farePaid }'),
  completed: list('completedTrips', '', '{ txHash farePaid driverAddress }'),
  recent: list('recentTrips', '', '{ txHash farePaid tripStatus }'),
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

test('both clients see every state of every list in order while three kinds of wallets ride, cancel and burn', async () => {
  const story = new Story();
  for (const [name, each] of Object.entries(LISTS)) await story.begin(name, each, []);
  for (const who of BALANCES) await story.begin(`balance ${who}`, balance(who), '50000000');

  const requested = await sends('bare', `createUnsignedRideRequest(${PLACE}, fare: "100")`);
  const near = [{ txHash: requested }];
  await story.goesOn({
    requests: [{ txHash: requested, fare: '100', passengerAddress: WALLETS.bare.account }],
    near,
  });
  await story.begin(
    'offers',
    list('rideOffers', `rideRequestTxHash: "${requested}"`, '{ txHash fare driverAddress }'),
    [],
  );
  const offered = await sends(
    'tron',
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "90")`,
  );
  await story.goesOn({
    offers: [{ txHash: offered, fare: '90', driverAddress: WALLETS.tron.account }],
  });
  const trip = await sends(
    'bare',
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`,
  );
  const unpaid = { txHash: trip, farePaid: '0' };
  await story.goesOn({
    requests: [],
    near: [],
    offers: [],
    active: [{ ...unpaid, fare: '90' }],
    driven: [unpaid],
  });
  await sends(
    'bare',
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "40")`,
  );
  const paid = { txHash: trip, farePaid: '40' };
  await story.goesOn({ active: [{ ...paid, fare: '90' }], driven: [paid] });
  await sends(
    'bare',
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "50")`,
  );
  const completed = { txHash: trip, farePaid: '90' };
  const over = { ...completed, tripStatus: 'completed' };
  await story.goesOn({
    active: [],
    driven: [],
    completed: [{ ...completed, driverAddress: WALLETS.tron.account }],
    recent: [over],
  });

  const second = await sends('browser', `createUnsignedRideRequest(${PLACE}, fare: "1000000")`);
  await story.goesOn({
    requests: [{ txHash: second, fare: '1000000', passengerAddress: WALLETS.browser.account }],
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
  const waiting = { txHash: cancelled, farePaid: '0' };
  await story.goesOn({
    requests: [],
    near: [],
    active: [{ ...waiting, fare: '2000000' }],
    driven: [waiting],
  });
  expect(before - BigInt(await nodeBalance('browser'))).toBeGreaterThanOrEqual(2_000_000n);
  await sends('tron', `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${cancelled}")`);
  const gone = { txHash: cancelled, tripStatus: 'cancelled' };
  await story.goesOn({
    active: [],
    driven: [],
    recent: [{ ...gone, farePaid: '0' }, over],
    own: [gone],
  });
  expect(before - BigInt(await nodeBalance('browser'))).toBeLessThan(2_000_000n);

  const third = await sends('tron', `createUnsignedRideRequest(${PLACE}, fare: "7")`);
  await story.goesOn({
    requests: [{ txHash: third, fare: '7', passengerAddress: WALLETS.tron.account }],
    near: [{ txHash: third }],
  });
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
    const { status } = await world.devnet.admin('/admin/clt/reorg', { depth });
    expect(status).toBe(200);
    await world.models.follow(world.devnet.devnet.node);
    await agrees();
    lists.add(JSON.stringify(watched[0]?.seen.official.at(-1)));
    await world.block();
    await agrees();
  }
  expect(lists.size).toBeGreaterThan(1);
});

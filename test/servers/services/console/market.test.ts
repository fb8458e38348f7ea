/** The pages of the market and of deposits in Chromium, on a hub, deposits and an explorer. */
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { shortened } from '../../../../services/console/src/format.ts';
import { addNotifications, addWallet } from '../../../services/console/browser-parts.ts';
import {
  DEPOSIT_ADDRESS,
  openConsoleWorld,
  openPage,
  type ConsoleWorld,
  type Opened,
} from '../../../services/console/console-world.ts';
import { openChromium } from '../../../support/chromium.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import { DESKTOP, PHONE, violationsOfBothSchemes, widthOf } from '../../../support/pages.ts';
import { walletOf, type TestWallet } from '../../../support/wallets.ts';

const rider = walletOf('browser', 'console rider');
const driver = walletOf('raw', 'console driver');
let missing = '';
let world: ConsoleWorld;
let opened: Opened;
let tokens: { readonly rider: string; readonly driver: string };
/** of a ride that is under way */
let [trip, requested] = ['', ''];

beforeAll(async () => {
  const browser = await openChromium();
  if ('missing' in browser) {
    ({ missing } = browser);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  world = await openConsoleWorld(inject('stack'), browser);
  const { hub } = world;
  for (const { account } of [rider, driver]) await hub.fund(account, 500_000_000n);
  tokens = { rider: await hub.signIn(rider), driver: await hub.signIn(driver) };
  requested = await request('12500000');
  const offered = await drive(
    `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "14000000")`,
  );
  trip = await ride(`createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`);
  opened = await openPage(world);
});
afterAll(() => world?.close());

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
  opened.problems.length = 0;
});

async function send(wallet: TestWallet, token: string, field: string): Promise<string> {
  const hash = await world.hub.send(wallet, token, field);
  await world.hub.block();
  return hash;
}

const ride = (field: string): Promise<string> => send(rider, tokens.rider, field);
const drive = (field: string): Promise<string> => send(driver, tokens.driver, field);

function request(fare: string, at = [52.52, 13.405]): Promise<string> {
  const [latitude = 0, longitude = 0] = at;
  return ride(
    `createUnsignedRideRequest(pickupLatitude: ${latitude}, pickupLongitude: ${longitude}, dropoffLatitude: 52.36, dropoffLongitude: 13.51, fare: "${fare}")`,
  );
}

const text = (of: string, page = opened.page): Promise<string> => page.locator(of).innerText();

const steps = (): Promise<readonly string[]> =>
  opened.page.locator('.timeline strong').allInnerTexts();

/** The rows of the list with this name. */
function rows(list: string): Promise<readonly string[]> {
  return opened.page.getByRole('region', { name: list }).locator('tbody tr').allInnerTexts();
}

test('the market shows open requests and active trips on a map and in lists, live', async () => {
  const { page, show, problems } = opened;
  await show('/market');
  await expect.poll(() => rows('Active trips')).toEqual([expect.stringMatching(/14\.00.* CLT/)]);
  await expect.poll(() => text('.market-list')).toContain('No open request here.');
  const hash = await request('7000000');
  await expect
    .poll(() => rows('Open requests'))
    .toEqual([expect.stringMatching(`${hash.slice(0, 8)}(.|\n)*7.00.* CLT`)]);
  // the map has placed itself where the rides are, and says so in the address
  await expect.poll(() => new URL(page.url()).searchParams.get('at')).toMatch(/^52\.4/);
  await expect.poll(() => page.locator('.maplibregl-canvas').count()).toBe(1);
  await page.getByRole('link', { name: hash.slice(0, 8) }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('ride')).toBe(hash);
  await expect.poll(steps).toEqual(['Requested']);
  await drive(`createUnsignedRideOffer(rideRequestTransactionHash: "${hash}", fare: "8000000")`);
  await expect.poll(steps).toEqual(['Requested', 'Offered']);
  await ride(`createUnsignedRideRequestCancel(rideRequestTransactionHash: "${hash}")`);
  await expect.poll(steps).toEqual(['Requested', 'Offered', 'Cancelled']);
  await expect.poll(() => rows('Open requests')).toEqual([]);
  expect(problems).toEqual([]);
});

test('an address that is on no map leads to where the rides are', async () => {
  const { page, show, problems } = opened;
  await show('/market?at=999,999,99');
  await expect.poll(() => page.locator('.maplibregl-canvas').count()).toBe(1);
  await expect.poll(() => rows('Active trips')).toHaveLength(1);
  expect(problems).toEqual([]);
});

test('the newest of ten thousand open requests are shown, and the page says so', async () => {
  const { page, show, problems } = opened;
  await show('/market?at=0.0000,0.0000,5');
  await expect.poll(() => text('.market-list')).toContain('No open request here.');
  await world.fill(10_000);
  await world.hub.block();
  await expect
    .poll(() => text('main'))
    .toContain('The newest 500 requests of this part of the map');
  await expect.poll(() => rows('Open requests')).toHaveLength(100);
  await expect.poll(() => text('.market-list')).toContain('The newest 100 of 500');
  // the page still answers, and a closer look has fewer
  await show('/market?at=0.0000,0.0000,14');
  await expect.poll(() => rows('Open requests').then(({ length }) => length)).toBeLessThan(100);
  expect(await page.getByText('The newest 500').count()).toBe(0);
  await world.fill(0);
  expect(problems).toEqual([]);
});

test("a ride's story has every step with its transaction, block, time and sender, live", async () => {
  const { page, show, problems } = opened;
  await show(`/market/trips/${trip}`);
  await expect.poll(steps).toEqual(['Requested', 'Offered', 'Accepted']);
  await expect
    .poll(() => text('.timeline'))
    .toMatch(new RegExp(`by\\s+${driver.account.slice(0, 8)}`));
  await expect.poll(() => text('.timeline')).toContain('Waits for payments');
  await expect.poll(() => text('main')).toContain('52.5200° N, 13.4050° E, Germany');
  await ride(`createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "5000001")`);
  await expect.poll(() => text('.figures')).toContain('8.999999 CLT');
  await ride(`createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "9000000")`);
  await expect.poll(steps).toEqual(['Requested', 'Offered', 'Accepted', 'Paid', 'Paid']);
  await expect.poll(() => text('.figures')).toContain('completed');
  expect(await page.locator('.timeline time').count()).toBe(5);
  // the same story by the hash of the request
  await show(`/market/trips/${requested}`);
  await expect.poll(steps).toHaveLength(5);
  await show(`/market/trips/0x${'00'.repeat(32)}`);
  await expect.poll(() => page.getByText('Not found').count()).toBe(1);
  expect(problems).toEqual([]);
});

/** The sentence on top of a transaction, with the addresses of both parties by their roles. */
async function answer(): Promise<string> {
  const sentence = await text('.answer > p');
  return sentence.replace(shortened(rider.account), 'R').replace(shortened(driver.account), 'D');
}

test('each of the six calls of a ride answers in a sentence, above the story of the ride', async () => {
  const { page, show, problems } = opened;
  const asked = await request('27000000');
  const offered = await drive(
    `createUnsignedRideOffer(rideRequestTransactionHash: "${asked}", fare: "27220000")`,
  );
  const agreed = await ride(`createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`);
  const pay = (fare: number): Promise<string> =>
    ride(`createUnsignedRidePay(rideAcceptanceTransactionHash: "${agreed}", fare: "${fare}")`);
  const [part, rest] = [await pay(7_000_000), await pay(20_220_000)];
  const withdrawnRequest = await request('5000000');
  const withdrawn = await ride(
    `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${withdrawnRequest}")`,
  );
  const cancelled = await drive(
    `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${await newTrip()}")`,
  );
  for (const [hash, sentence, tab] of [
    [
      asked,
      'Passenger R asked for a ride at 27.00 CLT; the ride is complete.',
      'Ride request at 27.00',
    ],
    [
      offered,
      'Driver D offered passenger R a ride at 27.22 CLT; the ride is complete.',
      'Ride offer at',
    ],
    [
      agreed,
      'Passenger R accepted the offer of driver D at 27.22 CLT; the ride is complete.',
      'Ride offer accepted',
    ],
    [
      part,
      'Passenger R paid 7.00 of 27.22 CLT to driver D, which left 20.22 CLT to pay.',
      'Ride payment of 7.00 CLT',
    ],
    [
      rest,
      'Passenger R paid 20.22 of 27.22 CLT to driver D; the ride is complete.',
      'Ride payment of 20.22',
    ],
    [
      cancelled,
      'Driver D cancelled the ride with passenger R; 6.00 of 6.00 CLT went back to the passenger.',
      'Ride cancelled',
    ],
    [withdrawn, 'Passenger R withdrew a request for a ride at 5.00 CLT.', 'Ride request withdrawn'],
  ] as const) {
    await show(`/transactions/${hash}`);
    await expect.poll(answer).toContain(sentence);
    expect(await page.title()).toContain(tab);
    await expect.poll(steps).toContain('Requested');
    await page.getByRole('link', { name: 'Whole story' }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/market/trips/${hash}`);
    await expect.poll(steps).toContain('Requested');
  }
  // known from the effects of an acceptance, and by no setting
  await show(`/transactions/${agreed}`);
  await expect.poll(() => text('main')).toContain('Escrow');
  await page.setViewportSize(PHONE);
  await expect.poll(() => widthOf(page)).toBe(PHONE.width);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  await page.setViewportSize(DESKTOP);
  expect(problems).toEqual([]);
});

test('while the hub is away a payment answers by its row alone', async () => {
  const { show } = opened;
  const paid = await ride(
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${await newTrip()}", fare: "1000000")`,
  );
  world.away('hub', true);
  await show(`/transactions/${paid}`);
  await expect.poll(answer).toContain('Passenger R paid 1.00 CLT to driver D.');
  await expect.poll(() => text('main')).toContain('The hub does not answer');
  world.away('hub', false);
  await expect.poll(answer).toContain('Passenger R paid 1.00 of 6.00 CLT to driver D, which left');
});

/** Begins a trip of 6 CLT; returns the hash of its acceptance. */
async function newTrip(): Promise<string> {
  const asked = await request('6000000');
  const offered = await drive(
    `createUnsignedRideOffer(rideRequestTransactionHash: "${asked}", fare: "6000000")`,
  );
  return ride(`createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`);
}

test('a cancelled ride shows what returned to the passenger, and long amounts fit on a phone', async () => {
  const { page, show, problems } = opened;
  await world.hub.fund(rider.account, 9_000_000_000_000_000n);
  const fare = '8999000000123456';
  const asked = await request(fare);
  const offered = await drive(
    `createUnsignedRideOffer(rideRequestTransactionHash: "${asked}", fare: "${fare}")`,
  );
  const long = await ride(`createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`);
  await ride(`createUnsignedRidePay(rideAcceptanceTransactionHash: "${long}", fare: "123456")`);
  await ride(`createUnsignedRideCancel(rideAcceptanceTransactionHash: "${long}")`);
  await page.setViewportSize(PHONE);
  await show(`/market/trips/${long}`);
  await expect.poll(steps).toEqual(['Requested', 'Offered', 'Accepted', 'Paid', 'Cancelled']);
  expect(await text('.figures')).toMatch(/Returned to the passenger\s+8,999,000,000.00 CLT/);
  expect(await text('.timeline')).not.toContain('Waits');
  for (const path of ['/', '/transactions']) {
    await show(path);
    const list = page.getByRole('region', { name: 'Transactions' }).locator('.table');
    await expect.poll(() => list.innerText()).toContain('8,999,000,000.123456');
    expect([path, await list.evaluate((of) => of.scrollWidth - of.clientWidth)]).toEqual([path, 0]);
  }
  await page.setViewportSize(DESKTOP);
  expect(problems).toEqual([]);
});

test('while the hub is away old rides stay and say so, and the market goes on by itself', async () => {
  const { page, show } = opened;
  const hash = await request('9000000');
  await show('/market?at=52.5000,13.4000,9');
  await expect.poll(() => rows('Open requests')).toHaveLength(1);
  world.away('hub', true);
  await expect.poll(() => text('.market-list')).toContain('No answer from the hub since');
  expect(await rows('Open requests')).toHaveLength(1);
  // the chain does without
  await page.getByRole('link', { name: 'Chain' }).click();
  await expect.poll(() => page.locator('.block').count()).toBeGreaterThan(0);
  await show('/deposits');
  await expect.poll(() => text('main')).toContain('The hub does not answer');
  await expect.poll(() => text('output')).toContain('98.00');
  world.away('hub', false);
  await expect.poll(() => text('main')).not.toContain('The hub does not answer');
  await show('/market?at=52.5000,13.4000,9');
  await expect.poll(() => rows('Open requests')).toHaveLength(1);
  await ride(`createUnsignedRideRequestCancel(rideRequestTransactionHash: "${hash}")`);
  await expect.poll(() => rows('Open requests')).toEqual([]);
});

test('without WebGL the lists show the rides, and the page says why there is no map', async () => {
  const { context, page } = opened;
  const bare = await context.newPage();
  await bare.addInitScript(() => {
    HTMLCanvasElement.prototype.getContext = () => null;
  });
  await bare.goto(`${world.explorer.url}/market`);
  await expect
    .poll(() => bare.locator('.market-map').innerText())
    .toContain('This browser draws no maps');
  await expect.poll(() => bare.getByText('No open request here.').count()).toBe(1);
  await bare.close();
  await page.bringToFront();
});

test('where the map is refused a context the lists show the rides, and the page says so', async () => {
  // the first context answers whether there is WebGL
  const bare = await opened.context.newPage();
  await bare.addInitScript(`const ask = HTMLCanvasElement.prototype.getContext;
    let asked = 0;
    HTMLCanvasElement.prototype.getContext = function (...given) {
      return String(given[0]).startsWith('webgl') && asked++ > 0 ? null : ask.apply(this, given);
    };`);
  await bare.goto(`${world.explorer.url}/market`);
  await expect
    .poll(() => bare.locator('.market-map').innerText())
    .toContain('The browser refuses to draw the map');
  await expect.poll(() => bare.getByText('No open request here.').count()).toBe(1);
  await bare.close();
});

test('a map without a first frame says so at once, and again after some seconds', async () => {
  const bare = await opened.context.newPage();
  // the script of the map does not come
  await bare.route(/\/map-[^/]*\.js$/, () => undefined);
  await bare.goto(`${world.explorer.url}/market`);
  const said = bare.locator('.market-map').getByRole('status');
  await expect.poll(() => said.innerText()).toContain('The map is being drawn');
  await expect.poll(() => said.innerText()).toContain('drawn no map within 6 seconds');
  await expect.poll(() => bare.getByText('No open request here.').count()).toBe(1);
  await bare.close();
  await opened.page.bringToFront();
});

test('the first view is where rides are, not at a pickup at the edge of the world', async () => {
  const { page, show, problems } = opened;
  const near = [await request('3000000'), await request('3000001')];
  const far = await request('1000', [0, 179.95]);
  await show('/market');
  await expect.poll(() => new URL(page.url()).searchParams.get('at')).toMatch(/^52\.4/);
  await expect.poll(() => text('.map-count')).toMatch(/^In view: 2 open requests, /);
  for (const hash of [...near, far])
    await ride(`createUnsignedRideRequestCancel(rideRequestTransactionHash: "${hash}")`);
  expect(problems).toEqual([]);
});

test('a depositor signs in with a wallet and follows a deposit from the QR code to the credit', async () => {
  const wallet = await openPage(world);
  const { page, show, problems } = wallet;
  await addWallet(wallet, rider);
  await show('/deposits');
  await page.getByRole('button', { name: 'Browser wallet' }).click();
  const address = toTronAddress(DEPOSIT_ADDRESS);
  await expect.poll(() => page.getByRole('img', { name: `QR code of ${address}` }).count()).toBe(1);
  const panel = page.getByRole('region', { name: 'Your deposits' });
  await expect.poll(() => panel.innerText()).toContain('No deposit yet.');
  const account = Buffer.from(rider.account.slice(2), 'hex');
  const arrived = confirmedEvent({ clt_address: account, deposit_address: DEPOSIT_ADDRESS });
  const deposit = depositEvents(depositIdOf(arrived.tx_id, arrived.log_index));
  await world.ledger(arrived);
  const story = (): Promise<readonly string[]> => page.locator('.timeline strong').allInnerTexts();
  await expect.poll(story).toEqual(['Arrived on TRON', 'Recorded as a deposit']);
  await expect.poll(() => panel.innerText()).toContain('Waits for its turn to be minted');
  // the next one is not the first any more
  await expect.poll(() => page.locator('output').innerText()).toContain('99.50');
  const mint = Buffer.alloc(32, 0x4d);
  await world.ledger(
    deposit.intended({ to: account, amount: 8_000_000n, nonce: 5, tx_hash: mint }),
  );
  await expect.poll(() => panel.innerText()).toContain('Waits for the block of its mint');
  await world.ledger(deposit.credited(mint));
  await expect.poll(story).toHaveLength(4);
  await expect.poll(() => panel.locator('summary').innerText()).toContain('credited');
  const held = confirmedEvent({
    ...arrived,
    tx_id: Buffer.alloc(32, 0x11),
    deposit_id: depositIdOf(Buffer.alloc(32, 0x11), 0),
    gross: 1_000_000n,
    fee: 500_000n,
    credit: 500_000n,
    address_ordinal: 1,
    block_timestamp: arrived.block_timestamp + 1,
  });
  await world.ledger(held, depositEvents(held.deposit_id).held('below_minimum'));
  await expect
    .poll(() => panel.innerText())
    .toContain('Waits for a person to decide: the credit is below the minimum');
  expect(problems).toEqual([]);
  // a reload keeps the session of the tab
  await page.reload();
  await expect.poll(() => panel.locator('summary').count()).toBe(2);
  world.away('deposits', true);
  await expect.poll(() => panel.innerText()).toContain('No answer from the deposit service since');
  expect(await panel.locator('summary').count()).toBe(2);
  world.away('deposits', false);
  await expect.poll(() => panel.innerText()).not.toContain('No answer');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect.poll(() => page.getByRole('button', { name: 'Browser wallet' }).count()).toBe(1);
  await wallet.context.close();
});

test('a deposit has an address that shows it after sign-in, to its owner alone', async () => {
  const wallet = await openPage(world);
  const { page, show, problems } = wallet;
  await addWallet(wallet, rider);
  await addNotifications(wallet, 'granted');
  const account = Buffer.from(rider.account.slice(2), 'hex');
  const tx_id = Buffer.alloc(32, 0x21);
  const deposit_id = depositIdOf(tx_id, 0);
  const arrived = confirmedEvent({
    clt_address: account,
    deposit_address: DEPOSIT_ADDRESS,
    tx_id,
    deposit_id,
    fee: 500_000n,
    credit: 9_500_000n,
    // after those of the test before
    address_ordinal: 2,
    block_timestamp: Date.now(),
  });
  await world.ledger(arrived);
  await page.setViewportSize(PHONE);
  await show(`/deposits/${deposit_id}`);
  await expect.poll(() => text('main', page)).toContain('nobody else sees it');
  await page.getByRole('button', { name: 'Browser wallet' }).click();
  const panel = page.getByRole('region', { name: 'Deposit', exact: true });
  await expect.poll(() => panel.innerText()).toContain('Waits for its turn to be minted');
  expect(await panel.innerText()).toContain(deposit_id);
  const link = panel.getByRole('link', { name: 'Show on TRON' });
  expect(await link.getAttribute('href')).toBe(`https://tron.example/tx/${tx_id.toString('hex')}`);
  expect(await widthOf(page)).toBe(PHONE.width);
  await page.getByRole('button', { name: 'Notify me when one is credited' }).click();
  await expect.poll(() => text('main', page)).toContain('notifies you when one of the deposits');
  const mint = Buffer.alloc(32, 0x4e);
  const of = depositEvents(deposit_id);
  await world.ledger(
    of.intended({ to: account, amount: 9_500_000n, nonce: 6, tx_hash: mint }),
    of.credited(mint),
  );
  await expect
    .poll(() => page.evaluate('window.shown'))
    .toEqual([expect.stringMatching(/^Deposit credited: Your .* USDT, less the fee/)]);
  expect(problems).toEqual([]);
  await page.getByRole('link', { name: 'All deposits' }).click();
  await expect.poll(() => text('.deposit-address', page)).toMatch(/Balance now:\s+[\d,.]+ CLT/);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await show(`/deposits/${deposit_id}`);
  await page.getByRole('button', { name: 'Throw-away key' }).click();
  await expect.poll(() => text('main', page)).toContain('has no deposit with this id');
  await wallet.context.close();
});

test('a browser that refuses notifications is told so in words', async () => {
  const refusing = await openPage(world);
  const { page, show } = refusing;
  await addNotifications(refusing, 'denied');
  await show('/deposits');
  await page.getByRole('button', { name: 'Throw-away key' }).click();
  await page.getByRole('button', { name: 'Notify me when one is credited' }).click();
  await expect.poll(() => text('main', page)).toContain('Notifications of this page are blocked');
  expect(await page.evaluate('window.shown')).toEqual([]);
  await refusing.context.close();
});

test('on the testnet a key that is made in the page signs in', async () => {
  const { page, show, problems } = opened;
  await show('/deposits');
  await page.getByRole('button', { name: 'Throw-away key' }).click();
  await expect.poll(() => page.getByRole('img', { name: /^QR code of T/ }).count()).toBe(1);
  await expect.poll(() => text('main')).toContain('No deposit yet.');
  expect(problems).toEqual([]);
});

test('an amount that is none is refused in words', async () => {
  const { page, show } = opened;
  await show('/deposits');
  await page.getByLabel('USDT that you send').fill('1.0000001');
  await expect.poll(() => text('output')).toContain('with 6 decimals at most');
});

test('no page is wider than a phone or breaks a rule of AA, light and dark', async () => {
  const { page, show, problems } = opened;
  const hash = await request('2000000');
  for (const path of [`/market?ride=${hash}`, `/market/trips/${trip}`, '/deposits']) {
    await page.setViewportSize(PHONE);
    await show(path);
    await expect.poll(() => page.locator('h1').count()).toBe(1);
    await expect.poll(() => page.getByText('Loading').count()).toBe(0);
    expect([path, await widthOf(page)]).toEqual([path, PHONE.width]);
    await page.setViewportSize(DESKTOP);
    expect([path, await violationsOfBothSchemes(page)]).toEqual([path, []]);
  }
  expect(problems).toEqual([]);
  await ride(`createUnsignedRideRequestCancel(rideRequestTransactionHash: "${hash}")`);
});

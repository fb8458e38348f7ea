/** Who has the password of Postgres' writer changes no address that a user is shown. */
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { accountAt, depositKey } from '../../../support/deposit-log.ts';
import {
  openWorld,
  type Gateway,
  type World,
} from '../../../services/deposit-gateway/deposit-world.ts';

const THIEF = accountAt(1);
const VICTIM = accountAt(2);
/** has no address yet */
const NEWCOMER = accountAt(3);
const KEY = depositKey();
const [THIEFS, VICTIMS] = [0, 1].map((index) => toTronAddress(KEY.addressAt(index)));

/** The thief's session: that of the writer, who owns the tables. */
async function openThief(world: World): Promise<Client> {
  const thief = new Client({ connectionString: world.writer_url });
  await thief.connect();
  onTestFinished(() => thief.end());
  return thief;
}

/** Thief and victim have their addresses; nothing changes the tables any more but the test. */
async function settled(): Promise<{ world: World; gateway: Gateway; thief: Client }> {
  const world = await openWorld(inject('stack'));
  const projector = world.startProjector();
  const gateway = await world.startGateway();
  await gateway.serving;
  expect([await gateway.open(THIEF), await gateway.open(VICTIM)]).toEqual([THIEFS, VICTIMS]);
  await projector.stop();
  return { world, gateway, thief: await openThief(world) };
}

async function post(gateway: Gateway, account: Buffer): Promise<string> {
  const { status, text } = await gateway.ask('POST', '/api/v1/deposits', account);
  return `${status} ${text}`;
}

/** The writer owns the tables: no constraint of theirs holds against it. */
const UNRULED = `ALTER TABLE deposits.addresses DROP CONSTRAINT addresses_pkey;
  DROP INDEX deposits.addresses_index`;

const REFUSED =
  '503 {"error":"the address cannot be shown at the moment, and a person has to look at it: no deposit is lost, so try again later"}';

test("a victim's row that has the thief's index and address is refused, counted and logged, also after a restart, and shown again once it is put back", async () => {
  const { world, gateway, thief } = await settled();
  const set = (account: Buffer, index: number, address: Buffer): Promise<unknown> =>
    thief.query(
      'UPDATE deposits.addresses SET derivation_index = $2, deposit_address = $3 WHERE clt_address = $1',
      [account, index, address],
    );
  await set(THIEF, -1, Buffer.alloc(20, 1));
  await set(VICTIM, 0, KEY.addressAt(0));
  const restarted = await world.startGateway();
  await restarted.serving;
  for (const each of [gateway, restarted]) {
    expect(await post(each, VICTIM)).toBe(REFUSED);
    expect(await each.counted('deposit_addresses_total', 'forged')).toBe(1);
    expect(each.lines.join('')).toContain('address_forged');
    expect(await (await fetch(`${each.ops_url}/status`)).json()).toMatchObject({
      status: 'ready',
      message: expect.stringContaining('1 request'),
    });
  }
  await set(VICTIM, -2, Buffer.alloc(20, 2));
  await set(THIEF, 0, KEY.addressAt(0));
  await set(VICTIM, 1, KEY.addressAt(1));
  for (const each of [gateway, restarted])
    expect([await post(each, VICTIM), await post(each, THIEF)]).toEqual([
      `200 {"address":"${VICTIMS}"}`,
      `200 {"address":"${THIEFS}"}`,
    ]);
});

const BYTES = [KEY.addressAt(0), KEY.addressAt(1), KEY.addressAt(7), Buffer.alloc(19, 1), null];
/** Values that each column may be given, for a row of the thief's or the victim's. */
const VALUES: Readonly<Record<string, readonly (Buffer | number | string | null)[]>> = {
  clt_address: [THIEF, VICTIM, NEWCOMER, Buffer.alloc(0), null],
  derivation_index: [0, 1, 7, -1, 2 ** 31, null],
  deposit_address: BYTES,
  requested_at: ['2020-01-01', 'infinity', null],
};

/** Every assignment of one or two columns. */
function assignments(): readonly Readonly<Record<string, unknown>>[] {
  const single = Object.entries(VALUES).flatMap(([column, values]) =>
    values.map((value) => ({ [column]: value })),
  );
  const pairs = single.flatMap((one, at) =>
    single
      .slice(at + 1)
      .flatMap((other) =>
        Object.keys(other)[0] === Object.keys(one)[0] ? [] : [{ ...one, ...other }],
      ),
  );
  return [...single, ...pairs];
}

test('under every change of one or two columns, and with deleted and duplicated rows, no account is shown the address of another', async () => {
  const { world, gateway, thief } = await settled();
  const late = await world.startGateway({ APP_ADDRESS_WAIT_MS: '100' });
  await late.serving;
  // its request is in the log, and no row shows it
  expect((await post(late, NEWCOMER)).slice(0, 3)).toBe('503');
  await thief.query(`${UNRULED};
    ALTER TABLE deposits.addresses ALTER clt_address DROP NOT NULL, ALTER derivation_index DROP NOT NULL,
      ALTER deposit_address DROP NOT NULL, ALTER requested_at DROP NOT NULL;
    CREATE TABLE rows_before AS TABLE deposits.addresses;
    CREATE TABLE book_before AS TABLE deposits.book`);
  const restore = `TRUNCATE deposits.addresses, deposits.book;
    INSERT INTO deposits.addresses TABLE rows_before; INSERT INTO deposits.book TABLE book_before`;
  const own = new Map([
    [THIEF, THIEFS],
    [VICTIM, VICTIMS],
    [NEWCOMER, toTronAddress(KEY.addressAt(2))],
  ]);
  const wrong: unknown[] = [];
  const counts = { shown: 0, refused: 0 };
  const look = async (change: unknown, by: Gateway): Promise<void> => {
    for (const [account, address] of own) {
      const answer = await post(by, account);
      const isOwn = answer === `200 {"address":"${address}"}`;
      if (isOwn) counts.shown++;
      else if (answer.startsWith('503 {"error":"')) counts.refused++;
      else wrong.push({ change, account, answer });
    }
  };
  const change = async (text: string, values: readonly unknown[] = []): Promise<void> => {
    await thief.query(text, [...values]);
    await look({ text, values }, late);
    await thief.query(restore);
  };
  for (const row of [THIEF, VICTIM])
    for (const assignment of assignments()) {
      const columns = Object.keys(assignment);
      const set = columns.map((column, at) => `${column} = $${at + 2}`).join(', ');
      const values = [row, ...Object.values(assignment)];
      await change(`UPDATE deposits.addresses SET ${set} WHERE clt_address = $1`, values);
    }
  const copy = `INSERT INTO deposits.addresses SELECT $1::bytea, derivation_index, deposit_address, requested_at
    FROM deposits.addresses WHERE clt_address = $2`;
  for (const [to, from] of [
    [VICTIM, THIEF],
    [VICTIM, VICTIM],
    [THIEF, VICTIM],
    [NEWCOMER, THIEF],
  ])
    await change(copy, [to, from]);
  await change('DELETE FROM deposits.addresses WHERE clt_address = $1', [VICTIM]);
  await change('DELETE FROM deposits.addresses');
  await change('DELETE FROM deposits.book');
  for (const column of ['log_end', 'addresses'])
    for (const value of [0, 1, 3, 10 ** 15]) {
      await change(`UPDATE deposits.book SET ${column} = $1`, [value]);
      await thief.query(`UPDATE deposits.book SET ${column} = $1`, [value]);
      await change('DELETE FROM deposits.addresses WHERE clt_address = $1', [VICTIM]);
    }
  await change('UPDATE deposits.book SET head = $1, key_fingerprint = $1', [Buffer.alloc(32, 1)]);
  await change(`DROP INDEX deposits.addresses_tron_text;
    ALTER TABLE deposits.addresses ALTER deposit_address TYPE text`);
  expect(wrong).toEqual([]);
  expect(Math.min(counts.shown, counts.refused)).toBeGreaterThan(100);
  await gateway.stop();
});

test("a row before the account's first request does not give it that address, and the log stays one that every reader folds", async () => {
  const world = await openWorld(inject('stack'));
  const projector = world.startProjector();
  const gateway = await world.startGateway({ APP_ADDRESS_WAIT_MS: '100' });
  await gateway.serving;
  expect(await gateway.open(THIEF)).toBe(THIEFS);
  await projector.stop();
  const thief = await openThief(world);
  await thief.query(UNRULED);
  await thief.query('INSERT INTO deposits.addresses VALUES ($1, 0, $2, now())', [
    NEWCOMER,
    KEY.addressAt(0),
  ]);
  await thief.query('UPDATE deposits.book SET addresses = 0, head = $1, key_fingerprint = NULL', [
    Buffer.alloc(32, 9),
  ]);
  expect(await post(gateway, NEWCOMER)).toBe(REFUSED);
  await thief.query('TRUNCATE deposits.addresses');
  await thief.query('UPDATE deposits.book SET log_end = 0');
  expect((await post(gateway, VICTIM)).slice(0, 3)).toBe('503');
  const [, , , request] = await world.events();
  expect(request).toMatchObject({
    type: 'AddressRequested',
    clt_address: VICTIM,
    derivation_index: 1,
    sequence: 3,
  });
  const restarted = await world.startGateway();
  await restarted.serving;
});

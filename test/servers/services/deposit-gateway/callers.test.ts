import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { toHex } from '../../../../schemas/address.ts';
import { Callers } from '../../../../services/deposit-gateway/callers.ts';
import { accountAt } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { badTokens, SECRET } from '../../../support/tokens.ts';
import { openTables } from '../../../projections/deposits/applied.ts';
import {
  bearerOf,
  bytesOf,
  NOW,
  openDeposits,
  type DepositServer,
} from '../../../services/deposit-gateway/deposit-server.ts';

const PATHS = [
  ['POST', '/api/v1/deposits'],
  ['GET', '/api/v1/deposits'],
  ['GET', '/api/v1/deposits/0c5b1e0a-6f5d-8a53-9d0f-3b1f6f0f2c11'],
  ['GET', '/api/v1/deposits/0c5b1e0a-6f5d-8a53-9d0f-3b1f6f0f2c11/events'],
  ['HEAD', '/api/v1/deposits'],
  ['DELETE', '/api/v1/deposits'],
  ['GET', '/api/v1/nothing'],
] as const;
const PUBLIC_KEY =
  '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';

let readerUrl: string;
let server: DepositServer;
let mainnet: DepositServer;
const asked: Buffer[] = [];
const addresses = {
  open: (account: Buffer): Promise<undefined> => {
    asked.push(account);
    return Promise.resolve(undefined);
  },
};

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  readerUrl = urls.reader_url;
  await (await openTables(urls.writer_url, deposits)).end();
  server = await openDeposits({ postgres_reader_url: readerUrl, addresses });
  mainnet = await openDeposits({
    postgres_reader_url: readerUrl,
    addresses,
    allowed_accounts: new Set([toHex(accountAt(1))]),
  });
});
afterAll(async () => {
  await server?.close();
  await mainnet?.close();
});

test('without a token every path and method is a plain 401, on every network', async () => {
  const answers = new Set<string>();
  for (const each of [server, mainnet]) {
    for (const [method, path] of PATHS) {
      const answer = await each.ask(method, path);
      expect([
        method,
        path,
        answer.status,
        answer.text,
        answer.headers.get('www-authenticate'),
      ]).toEqual([method, path, 401, '', 'Bearer']);
      answers.add(bytesOf(answer));
    }
  }
  expect(answers.size).toBe(1);
  expect(asked).toEqual([]);
});

test('a preflight needs no token, and the page may read the response', async () => {
  const headers = { 'access-control-request-method': 'POST' };
  const preflight = await fetch(`${server.url}/api/v1/deposits`, { method: 'OPTIONS', headers });
  expect([
    preflight.status,
    await preflight.text(),
    preflight.headers.get('access-control-allow-headers'),
  ]).toEqual([204, '', 'authorization, *']);
  const refused = await server.ask('GET', '/api/v1/deposits');
  for (const answer of [preflight, refused])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect((await server.ask('OPTIONS', '/api/v1/deposits')).status).toBe(401);
});

test.each(Object.entries(badTokens(NOW)))(
  'a bad token gets that same 401: %s',
  async (_what, token) => {
    const none = bytesOf(await server.ask('GET', '/api/v1/deposits'));
    for (const each of [server, mainnet]) {
      for (const method of ['GET', 'POST'])
        expect(bytesOf(await each.ask(method, '/api/v1/deposits', `Bearer ${token}`))).toBe(none);
    }
    expect(asked).toEqual([]);
  },
);

test.each([
  'Basic dXNlcjpwYXNz',
  'Bearer',
  'Token x',
  `${bearerOf(accountAt(1))} x`,
  bearerOf(accountAt(1)).slice('Bearer '.length),
  '\u00ff',
])('an Authorization header without a bearer token is the same 401: %s', async (header) => {
  const none = bytesOf(await server.ask('GET', '/api/v1/deposits'));
  expect(bytesOf(await server.ask('GET', '/api/v1/deposits', header))).toBe(none);
});

test('an undecodable URL and a body that is too large are the same 401, since the token is checked first', async () => {
  const expected = [401, '', 'Bearer'];
  const answers = [
    await fetch(`${server.url}/api/v1/deposits/%zz`),
    await fetch(`${server.url}/api/v1/deposits`, { method: 'POST', body: 'x'.repeat(20_000) }),
  ];
  for (const answer of answers)
    expect([answer.status, await answer.text(), answer.headers.get('www-authenticate')]).toEqual(
      expected,
    );
});

test('a good token passes, also after bearer in lower case', async () => {
  for (const header of [bearerOf(accountAt(1)), bearerOf(accountAt(1)).replace('Bearer', 'bearer')])
    expect((await server.ask('GET', '/api/v1/deposits', header)).text).toBe('{"deposits":[]}');
});

test('an address in any case is one account', async () => {
  const account = Buffer.from('7e5f4552091a69125d5dfcb7b8c2659029395bdf', 'hex');
  for (const pk of [
    '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf',
    '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    '0x7E5F4552091A69125D5DFCB7B8C2659029395BDF',
  ]) {
    await server.ask('POST', '/api/v1/deposits', bearerOf(pk));
    expect(asked.pop()).toEqual(account);
  }
});

test.each([
  ['a public key', `04${PUBLIC_KEY}`],
  ['a public key with 0x', `0x04${PUBLIC_KEY}`],
  [
    'a compressed public key',
    `0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798`,
  ],
  ['40 digits without 0x', '7e5f4552091a69125d5dfcb7b8c2659029395bdf'],
  ['an address of TRON', 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6'],
  ['an address that is too long', `0x${'a'.repeat(41)}`],
  ['an address and a line', `0x${'a'.repeat(40)}\n`],
  ['an address and a NUL', `0x${'a'.repeat(40)}\0`],
])(
  'a token that carries %s is refused with 400 and the reason, before the list is asked',
  async (_what, pk) => {
    for (const each of [server, mainnet]) {
      const answer = await each.ask('POST', '/api/v1/deposits', bearerOf(pk));
      expect([answer.status, answer.text]).toEqual([
        400,
        '{"error":"deposits require an address-form token (0x + 40 hex) and public-key tokens are not accepted"}',
      ]);
    }
    expect(asked).toEqual([]);
  },
);

test('on the mainnet an account that is not listed gets 403 on every route, and nothing is created', async () => {
  for (const [method, path] of PATHS) {
    const { status, text } = await mainnet.ask(method, path, bearerOf(accountAt(2)));
    expect([method, path, status, text]).toEqual([
      method,
      path,
      403,
      method === 'HEAD' ? '' : `{"error":"account is not on the pilot's list"}`,
    ]);
  }
  expect(asked).toEqual([]);
  expect((await mainnet.ask('GET', '/api/v1/deposits', bearerOf(accountAt(1)))).status).toBe(200);
  expect(
    (
      await mainnet.ask(
        'GET',
        '/api/v1/deposits',
        bearerOf(toHex(accountAt(1)).toUpperCase().replace('0X', '0x')),
      )
    ).status,
  ).toBe(200);
});

test('a valid token counts for its account, all others for their address; open paths count too', async () => {
  const limited = await openDeposits({
    postgres_reader_url: readerUrl,
    rate_per_second: 0.01,
    rate_burst: 2,
    addresses,
    starting: () => ({ status: 'waiting', message: 'waiting for the log' }),
  });
  const ask = async (path: string, header?: string): Promise<number> =>
    (await limited.ask('GET', path, header)).status;
  const good = bearerOf(accountAt(1));
  expect(await ask('/api/v1/deposits', 'Bearer forged')).toBe(401);
  const unready = await limited.ask('GET', '/ready');
  expect([unready.status, unready.text]).toEqual([503, '{"error":"log: waiting for the log"}']);
  // the limit comes before the rest
  for (const path of ['/api/v1/deposits', '/', '/health', '/ready', '/docs', '/openapi.json'])
    expect([path, await ask(path)]).toEqual([path, 429]);
  for (let request = 0; request < 2; request++)
    expect((await limited.ask('POST', '/api/v1/deposits', good)).status).toBe(503);
  const refused = await limited.ask('GET', '/api/v1/deposits', good);
  expect([refused.status, refused.text, refused.headers.get('retry-after')]).toEqual([
    429,
    '{"error":"too many requests: try again in 100 s"}',
    '100',
  ]);
  await limited.close();
});

test('a request without a verified token has no account: serving it would be a bug', async () => {
  const callers = new Callers(
    { jwt_secret: SECRET, allowed_accounts: undefined },
    () => NOW * 1_000,
  );
  const request = { path: '/api/v1/deposits', headers: {} };
  expect(() => callers.of(request)).toThrow('served without its token');
  expect(await callers.refuse(request)).toMatchObject({ status: 401 });
  expect(() => callers.of(request)).toThrow('served without its token');
});

test('the log of these tests at level trace holds no token and no secret', async () => {
  const text = [...server.lines, ...mainnet.lines].join('');
  expect(text).toContain('"request_id"');
  expect(text).not.toContain(SECRET);
  for (const token of [
    bearerOf(accountAt(1)),
    bearerOf(accountAt(2)),
    ...Object.values(badTokens(NOW)),
  ]) {
    for (const part of token
      .replace('Bearer ', '')
      .split('.')
      .filter((each) => each.length > 20))
      expect(text.includes(part), part.slice(0, 60)).toBe(false);
  }
});

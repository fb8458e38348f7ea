import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  askTreasury,
  TREASURY_LIMITS,
} from '../../../../services/explorer-gateway/reserve/treasury.ts';
import { takePort } from '../../../support/free-ports.ts';
import { TreasuryServer } from './treasury-server.ts';

const RUN =
  '{"run_at":"2026-11-21T07:25:00.000Z","onchain_supply":5,"genesis_allocation":4,"treasury_minted":2,"ledger_liability":1,"custody_reported":1,"status":"ok"}';

let treasury: TreasuryServer;
beforeEach(async () => {
  treasury = await TreasuryServer.open();
});
afterEach(() => treasury.close());

async function unavailable(limits = TREASURY_LIMITS): Promise<unknown> {
  const answer = await askTreasury(treasury.url, limits);
  return 'unavailable' in answer ? answer.unavailable : answer;
}

test('the request is for uncompressed JSON, and the run is parsed', async () => {
  treasury.says(`{"last_run":${RUN}}`);
  expect(await askTreasury(treasury.url)).toMatchObject({
    last_run: { onchain_supply: 5n, status: 'ok' },
  });
  const [request] = treasury.requests;
  expect([request?.method, request?.url]).toEqual(['GET', '/public/reconciliation']);
  expect(request?.headers).toMatchObject({
    accept: 'application/json',
    'accept-encoding': 'identity',
  });
});

test.each([
  [
    '<html><body>Bad gateway</body></html>',
    'the treasury answered something else than agreed: expected JSON',
  ],
  ['', 'the treasury answered something else than agreed: expected JSON'],
  [`{"last_run":${RUN}`, 'the treasury answered something else than agreed: expected JSON'],
  [
    `{"last_run":${RUN.replace('"onchain_supply":5', '"onchain_supply":NaN')}}`,
    'the treasury answered something else than agreed: expected JSON',
  ],
  [
    `{"last_run":${RUN.replace('"onchain_supply":5', '"onchain_supply":-5')}}`,
    'the treasury answered something else than agreed: last_run.onchain_supply: expected an integer from 0 to 2^256 - 1',
  ],
  [
    '[]',
    'the treasury answered something else than agreed: last_run: expected an object that has it',
  ],
])('the answer %s gives no figures', async (body, why) => {
  treasury.says(body);
  expect(await unavailable()).toBe(why);
});

test.each([201, 204, 206, 400, 401, 404, 429, 500, 503])(
  'the status %i gives no amounts with any body',
  async (status) => {
    treasury.says(status === 204 ? '' : `{"last_run":${RUN}}`, status);
    expect(await unavailable()).toBe(`the treasury answered with status ${status}`);
  },
);

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to any address is not followed',
  async (status) => {
    const elsewhere = await TreasuryServer.open();
    for (const location of [
      elsewhere.url,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      'no address at all\u00e9',
    ]) {
      treasury.says(`{"last_run":${RUN}}`, status, { location: encodeURI(location) });
      expect(await unavailable()).toBe(
        `the treasury answered with status ${status}, and redirects are not followed`,
      );
    }
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  },
);

const BOMB = gzipSync(Buffer.alloc(50_000_000));

test.each(['gzip', 'deflate', 'br', 'zstd', 'x-unknown', 'identity, gzip'])(
  'an answer in the encoding %s is not unpacked',
  async (encoding) => {
    treasury.says(BOMB, 200, { 'content-encoding': encoding });
    expect(await unavailable()).toBe('the treasury answered in an encoding that was not asked for');
  },
);

test('a body of exactly the largest size is accepted, one byte more is not', async () => {
  const text = `{"last_run":${RUN}}`;
  treasury.says(text.padEnd(65_536));
  expect(await askTreasury(treasury.url)).toHaveProperty('last_run.status', 'ok');
  treasury.says(text.padEnd(65_537));
  expect(await unavailable()).toBe('the treasury answered more than 65536 bytes');
});

test('a body of a gigabyte is read only up to the limit and the bytes in flight', async () => {
  const chunk = Buffer.alloc(65_536, ' ');
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  treasury.answer = (_request, response) => {
    response.once('close', closed.resolve);
    const more = (): void => {
      while (sent < 1_000_000_000 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };
  expect(await unavailable()).toBe('the treasury answered more than 65536 bytes');
  await closed.promise;
  expect(sent).toBeLessThan(100_000_000);
});

const trickle: RequestListener = (_request, response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write(' '), 10);
  response.once('close', () => clearInterval(timer));
};

test.each([
  ['never answers', () => undefined],
  [
    'never ends its answer',
    (_request, response) => void response.writeHead(200).write('{"last_run":'),
  ],
  ['sends a byte now and then', trickle],
] satisfies readonly (readonly [string, RequestListener])[])(
  'one that %s is given up after the time limit',
  async (_what, answer) => {
    treasury.answer = answer;
    expect(await unavailable({ answer_ms: 150, body_bytes_max: 65_536 })).toBe(
      'the treasury did not answer within 150 ms',
    );
  },
);

test('a body that breaks off or is shorter than its length gives no amounts', async () => {
  treasury.answer = (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write(`{"last_run":${RUN}}`);
    setImmediate(() => response.destroy());
  };
  expect(await unavailable()).toMatch(/^the treasury (broke off its answer|cannot be reached)$/);
  treasury.answer = (request) => void request.socket.destroy();
  expect(await unavailable()).toBe('the treasury cannot be reached');
});

test('an unreachable treasury is reported as such, with the network error in the log only', async () => {
  const taken = await takePort();
  const answer = await askTreasury(`http://127.0.0.1:${taken.port}/`);
  taken.release();
  expect(answer).toEqual({
    unavailable: 'the treasury cannot be reached',
    cause: expect.any(TypeError),
  });
});

import { parse } from 'node:querystring';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  GET_ACCOUNT,
  GET_BALANCE_AT,
  GET_BLOCK,
  GET_SERIES,
  GET_TRANSACTION,
  LIST_BLOCKS,
  LIST_TRANSACTIONS,
  SEARCH,
} from '../../../../schemas/explorer-api/operations.ts';
import {
  isRefused,
  readParts,
  readQuery,
  type Given,
} from '../../../../schemas/http-api/parameters.ts';
import { encodeCursor } from '../../../../services/explorer-gateway/routes/responses.ts';
import {
  pageOf,
  rangeOf,
  transactionsList,
  transactionsPageOf,
} from '../../../../services/explorer-gateway/routes/parameters.ts';
import { anyCharacter } from '../../../support/any-character.ts';

function pageIn(query: Given) {
  const values = readQuery(query, LIST_BLOCKS.parameters);
  return isRefused(values) ? values : pageOf(values, 'blocks');
}
function requestIn(query: Given) {
  const values = readQuery(query, LIST_TRANSACTIONS.parameters);
  if (isRefused(values)) return values;
  const { address, block, type, status } = values;
  const filter = { address, block, type };
  const paged = transactionsPageOf(values, filter);
  return 'refused' in paged ? paged : { ...paged, filter, status };
}
const page = (query: string): unknown => pageIn(parse(query));
const request = (query: string): unknown => requestIn(parse(query));
const searchIn = (query: Given) => readQuery(query, SEARCH.parameters);
const heightIn = (query: Given) => readQuery(query, [GET_BALANCE_AT.parameters[1]]);
const blockId = (id: unknown) => readParts({ id }, [GET_BLOCK.parameters[0]]);
const transactionId = (hash: unknown) => readParts({ hash }, [GET_TRANSACTION.parameters[0]]);
const accountId = (address: unknown) => readParts({ address }, [GET_ACCOUNT.parameters[0]]);
const invalid = (message: string): unknown => ({ refused: 'invalid_request', message });

const BAD_LIMIT = invalid('limit must be a decimal integer from 1 to 100');
const BAD_OFFSET = invalid('offset must be a decimal integer, 0 or more');

describe('limit and offset', () => {
  test('have defaults, and other parameters are ignored', () => {
    expect(page('')).toEqual({ limit: 20, offset: 0n });
    expect(page('utm=1&utm=2&cursors=&__proto__=1&constructor=2&limited=x')).toEqual({
      limit: 20,
      offset: 0n,
    });
  });

  test('take decimal integers, the offset of any size', () => {
    expect(page('limit=1')).toEqual({ limit: 1, offset: 0n });
    expect(page('limit=100&offset=5')).toEqual({ limit: 100, offset: 5n });
    expect(page('limit=007')).toEqual({ limit: 7, offset: 0n });
    expect(page(`offset=${2n ** 63n}`)).toEqual({ limit: 20, offset: 2n ** 63n });
    expect(page(`offset=${'9'.repeat(256)}`)).toEqual({ limit: 20, offset: 10n ** 256n - 1n });
  });

  test.each([
    '0',
    '00',
    '101',
    '-1',
    '%2B5',
    '1.0',
    '1e1',
    '0x10',
    'abc',
    ' 5',
    '5 ',
    '%D9%A5',
    '1,2',
    'null',
    '20;',
    "1'",
    '5%00',
    '99999999999999999999',
  ])('limit is not %j', (value) => expect(page(`limit=${value}`)).toEqual(BAD_LIMIT));

  test.each(['-1', '%2B1', '1.5', '1e3', '0x0', 'x', '%EF%BC%95', '- 1', '1_000'])(
    'offset is not %j',
    (value) => expect(page(`offset=${value}`)).toEqual(BAD_OFFSET),
  );

  test('may be given once, in one form, not empty, and of limited length', () => {
    const twice = invalid('parameter limit may be given only once');
    for (const query of [
      'limit=5&limit=6',
      'limit=5&limit=5',
      'limit[]=5',
      'limit[a]=5',
      'limit%5B%5D=5',
    ])
      expect(page(query)).toEqual(twice);
    for (const query of ['limit=', 'limit', 'offset=0&limit=']) {
      expect(page(query)).toEqual(
        invalid('parameter limit is empty: leave it out or give it a value'),
      );
    }
    const overlong = invalid('parameter offset is longer than 256 characters');
    expect(page(`offset=${'1'.repeat(257)}`)).toEqual(overlong);
    expect(page(`offset=${'%27'.repeat(10_240)}`)).toEqual(overlong);
  });
});

describe('a cursor', () => {
  const cursor = encodeCursor('blocks', 1_200n);
  const bad = invalid(
    'cursor must be one that came in a Link header of the same list with the same filters',
  );

  test('gives the ordinal below which the page begins, with any limit', () => {
    expect(page(`cursor=${cursor}`)).toEqual({ limit: 20, below: 1_200n });
    expect(page(`cursor=${cursor}&limit=7`)).toEqual({ limit: 7, below: 1_200n });
  });

  test('is not combined with an offset', () => {
    for (const offset of ['0', '5']) {
      expect(page(`cursor=${cursor}&offset=${offset}`)).toEqual(
        invalid('offset and cursor must not be combined: give one of them'),
      );
    }
  });

  test('that is malformed or of another list is refused', () => {
    const others = [
      `${cursor}A`,
      cursor.slice(1),
      cursor.toLowerCase(),
      `${cursor.slice(0, -1)}%3D`,
      'A'.repeat(16),
      '5',
      '%00',
      "'",
    ];
    for (const other of [...others, encodeCursor('transactions', 1_200n)])
      expect(page(`cursor=${other}`)).toEqual(bad);
    expect(page('cursor=')).toEqual(
      invalid('parameter cursor is empty: leave it out or give it a value'),
    );
    expect(page(`cursor=${cursor}&cursor=${cursor}`)).toEqual(
      invalid('parameter cursor may be given only once'),
    );
    expect(page(`cursor=${'a'.repeat(257)}`)).toEqual(
      invalid('parameter cursor is longer than 256 characters'),
    );
  });

  test('for transactions is valid for the same filters only, in any notation', () => {
    const address = '7e5f4552091a69125d5dfcb7b8c2659029395bdf';
    const filter = { block: undefined, address: Buffer.from(address, 'hex'), type: undefined };
    const own = encodeCursor(transactionsList(filter, 'address'), 5n);
    for (const text of [address, `0x${address}`, address.toUpperCase()]) {
      expect(request(`address=${text}&cursor=${own}`)).toMatchObject({
        page: { limit: 20, below: 5n },
      });
    }
    for (const other of [
      '',
      `address=${'0'.repeat(40)}`,
      `address=${address}&block=5`,
      `address=${address}&type=Mint`,
      'block=5',
      'type=Mint',
    ]) {
      expect(request(`${other}&cursor=${own}`)).toEqual(bad);
    }
  });

  test('for an address and a type states which of the two is scanned', () => {
    const filter = { block: undefined, address: Buffer.alloc(20), type: 'Mint' };
    for (const by of ['address', 'type'] as const) {
      const own = encodeCursor(transactionsList(filter, by), 5n);
      expect(request(`address=${'0'.repeat(40)}&type=Mint&cursor=${own}`)).toMatchObject({
        by,
        page: { limit: 20, below: 5n },
      });
    }
    expect(request(`address=${'0'.repeat(40)}&type=Mint`)).toMatchObject({ by: undefined });
  });
});

describe('the search parameter', () => {
  test('is any text', () => {
    for (const q of ['5', ' ', '%', "' OR 1=1", 'é'])
      expect(searchIn(parse(`q=${encodeURIComponent(q)}`))).toEqual({ q });
  });

  test('is required, once and not empty; a text longer than all that exists finds nothing', () => {
    const missing = invalid('parameter q is missing: give a height, a hash or an address');
    for (const query of ['', 'Q=5', 'query=5']) expect(searchIn(parse(query))).toEqual(missing);
    expect(searchIn(parse('q='))).toEqual(
      invalid('parameter q is empty: leave it out or give it a value'),
    );
    expect(searchIn(parse('q=5&q=5'))).toEqual(invalid('parameter q may be given only once'));
    expect(searchIn(parse(`q=${'5'.repeat(257)}`))).toEqual({ q: '' });
  });
});

describe('filters of transactions', () => {
  const nothing = {
    page: { limit: 20, offset: 0n },
    filter: { block: undefined, address: undefined, type: undefined },
    by: undefined,
    status: undefined,
  };
  const address = Buffer.from('7e5f4552091a69125d5dfcb7b8c2659029395bdf', 'hex');

  test('are all optional', () => expect(request('')).toEqual(nothing));

  test.each([
    '7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    '0x7E5F4552091A69125D5DFCB7B8C2659029395BDF',
    '0X7e5F4552091a69125d5dfcb7b8c2659029395bdf',
  ])('an address is %s', (text) =>
    expect(request(`address=${text}`)).toEqual({
      ...nothing,
      filter: { ...nothing.filter, address },
    }),
  );

  test.each([
    '7e5f',
    '0x',
    `0x${'0'.repeat(39)}`,
    `0x${'0'.repeat(41)}`,
    `0x${'g'.repeat(40)}`,
    `%20${'0'.repeat(40)}`,
    `0x${'0'.repeat(64)}`,
    '%25',
    '_',
  ])('an address is not %j', (text) =>
    expect(request(`address=${text}`)).toEqual(
      invalid('address must be 40 hex digits, with or without 0x'),
    ),
  );

  test('a block is a height of any size', () => {
    expect(request('block=0')).toEqual({ ...nothing, filter: { ...nothing.filter, block: 0n } });
    expect(request(`block=${10n ** 40n}`)).toEqual({
      ...nothing,
      filter: { ...nothing.filter, block: 10n ** 40n },
    });
    for (const bad of ['-1', '0x5', '1.0', 'latest'])
      expect(request(`block=${bad}`)).toEqual(invalid('block must be a height, a decimal integer'));
  });

  test('type and status are texts, taken as they are', () => {
    for (const type of ['Transfer', 'transfer', "O'Neill %_\\", ' ', 'é', 'a\nb']) {
      expect(request(`type=${encodeURIComponent(type)}&status=x`)).toEqual({
        ...nothing,
        filter: { ...nothing.filter, type },
        status: 'x',
      });
    }
    expect(request('type=a%00b')).toEqual(invalid('type must not contain the character NUL'));
  });

  test('each may be given once and not empty', () => {
    for (const name of ['address', 'block', 'type', 'status']) {
      expect(request(`${name}=1&${name}=1`)).toEqual(
        invalid(`parameter ${name} may be given only once`),
      );
      expect(request(`${name}=`)).toEqual(
        invalid(`parameter ${name} is empty: leave it out or give it a value`),
      );
      expect(request(`${name}=${'a'.repeat(10_240)}`)).toEqual(
        invalid(`parameter ${name} is longer than 256 characters`),
      );
    }
  });
});

describe('identifiers of blocks and transactions', () => {
  const digits = '12'.repeat(32);

  test('64 digits are a hash, other decimals a height of any size', () => {
    const hash = Buffer.from(digits, 'hex');
    for (const id of [digits, `0x${digits}`, `0X${digits}`])
      expect(blockId(id)).toEqual({ id: { hash } });
    expect(blockId('0')).toEqual({ id: { height: 0n } });
    expect(blockId('9'.repeat(63))).toEqual({ id: { height: 10n ** 63n - 1n } });
    expect(blockId('9'.repeat(65))).toEqual({ id: { height: 10n ** 65n - 1n } });
  });

  test.each([
    '',
    '-1',
    '0x5',
    '1.0',
    'latest',
    '5 ',
    `0x${'f'.repeat(63)}`,
    'f'.repeat(65),
    `0x${digits}0`,
    undefined,
    ['5'],
    "1' OR 1=1",
  ])('a block is not %j', (id) => expect(blockId(id)).toHaveProperty('refused', 'invalid_request'));

  test('a block is not ten kilobytes of digits', () => {
    expect(blockId('1'.repeat(10_240))).toHaveProperty('refused', 'invalid_request');
  });

  test('a transaction has a hash and nothing else', () => {
    expect(transactionId(`0x${'AB'.repeat(32)}`)).toEqual({ hash: Buffer.alloc(32, 0xab) });
    for (const bad of ['5', 'ab', 'g'.repeat(64), `0x${'0'.repeat(65)}`, undefined]) {
      expect(transactionId(bad)).toHaveProperty('refused', 'invalid_request');
    }
  });
});

describe('identifiers of accounts and heights', () => {
  test('an account has an address, in any case, with or without 0x, and nothing else', () => {
    const address = Buffer.from('7e5f4552091a69125d5dfcb7b8c2659029395bdf', 'hex');
    for (const text of [address.toString('hex'), address.toString('hex').toUpperCase()]) {
      for (const name of [text, `0x${text}`, `0X${text}`])
        expect(accountId(name)).toEqual({ address });
    }
    const bad = invalid('an account is named by its address, 40 hex digits with or without 0x');
    for (const name of [
      '',
      '5',
      'g'.repeat(40),
      '0'.repeat(39),
      '0'.repeat(41),
      '0'.repeat(64),
      undefined,
      ['0'.repeat(40)],
    ]) {
      expect(accountId(name)).toEqual(bad);
    }
  });

  test('a height is a decimal integer of any size, and must be given', () => {
    expect(heightIn(parse('height=0'))).toEqual({ height: 0n });
    expect(heightIn(parse(`height=${2n ** 70n}`))).toEqual({ height: 2n ** 70n });
    expect(heightIn(parse('block=5'))).toEqual(
      invalid('parameter height is missing: give the height of a block'),
    );
    expect(heightIn(parse('height='))).toEqual(
      invalid('parameter height is empty: leave it out or give it a value'),
    );
    expect(heightIn(parse('height=5&height=5'))).toEqual(
      invalid('parameter height may be given only once'),
    );
    for (const height of ['-1', '+1', '1.0', '0x1', 'latest', ' 1', '1e3']) {
      expect(heightIn({ height })).toEqual(
        invalid('height must be the height of a block, a decimal integer'),
      );
    }
  });
});

const REFUSAL =
  /^(parameter (limit|offset|cursor|address|block|type|status|q|height) (may be|is)|(limit|offset|offset and cursor|cursor|address|block|type|height) must|an? (block|transaction|account) is named by)/;

test('any input is parsed or refused, and a refusal never repeats it', () => {
  const value = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.stringMatching(/^[0-9a-fx.+eE[\]%_-]*$/),
  );
  const names = fc.constantFrom(
    'limit',
    'offset',
    'cursor',
    'address',
    'block',
    'type',
    'status',
    'q',
    'height',
    'limit[]',
    'other',
  );
  const query = fc.dictionary(names, fc.oneof(value, fc.array(value)));
  fc.assert(
    fc.property(query, value, (parameters, id) => {
      const lists = [pageIn(parameters), requestIn(parameters)];
      const named = [blockId(id), transactionId(id), accountId(id)];
      const others = [searchIn(parameters), heightIn(parameters)];
      const strange = [...lists, ...named, ...others].filter(
        (parsed) =>
          'refused' in parsed &&
          !(parsed.refused === 'invalid_request' && REFUSAL.test(parsed.message)),
      );
      expect(strange).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

const range = (query: string): unknown => {
  const values = readQuery(parse(query), GET_SERIES.parameters);
  return isRefused(values) ? values : rangeOf(values);
};

test('a range of a series is of buckets that begin within it', () => {
  const day = Date.UTC(2026, 2, 1) / 86_400_000;
  expect(range('')).toMatchObject({ by: 'hour', from: 0, limit: 168 });
  expect(range('by=day&from=2026-03-01&to=2026-03-03T00:00:00.001Z&limit=1000')).toEqual({
    by: 'day',
    from: day,
    to: day + 3,
    limit: 1_000,
  });
  expect(range('from=2026-03-01T00:30Z&to=2026-03-01T02:00:00Z')).toMatchObject({
    from: day * 24 + 1,
    to: day * 24 + 2,
  });
});

test.each([
  ['by=week', 'by must be one of: hour, day'],
  ['by=toString', 'by must be one of: hour, day'],
  ['from=yesterday', 'from must be a time in UTC'],
  ['to=2026-02-30T25:00:00Z', 'to must be a time in UTC'],
  ['to=2026-03-01T12:00:00%2B01:00', 'to must be a time in UTC'],
  ['to=9223372036854775808', 'to must be a time in UTC'],
  ['from=2026-03-02&to=2026-03-02', 'from must be before to'],
  ['limit=0', 'limit must be a decimal integer from 1 to 1000'],
  ['limit=1001', 'limit must be a decimal integer from 1 to 1000'],
  ['by=day&by=hour', 'parameter by may be given only once'],
  ['from=', 'parameter from is empty'],
])('the range of a series %s is refused: %s', (query, message) => {
  expect(range(query)).toEqual({
    refused: 'invalid_request',
    message: expect.stringContaining(message),
  });
});

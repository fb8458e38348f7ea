import { expect, test } from 'vitest';
import {
  parseBalance,
  parseBalances,
  parseHead,
  parseList,
  parseOptionalWord,
  parseReceipt,
  transfersIn,
  type TronReceipt,
} from '../../schemas/trongrid.ts';
import type { Parsed } from '../../schemas/json-reader.ts';
import { parseTronAddress, toTronAddress } from '../../schemas/tron-address.ts';
import { recordedList, recordedReceipt } from '../support/trongrid/recorded.ts';

const USDT = Buffer.from('a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'hex');
const TX = '6182758a7dd1bfdd005f978285300f8f6dbf93d76171ddb6514d7c0044d2b809';
const WORD = '0'.repeat(64);

function valueOf<T>(read: Parsed<T>): T {
  if ('problem' in read) throw new Error(read.problem);
  return read.value;
}

function problemOf(read: Parsed<unknown>): string | undefined {
  return 'problem' in read ? read.problem : undefined;
}

/** The recorded receipt with something else in it. */
function receiptWith(change: object): unknown {
  return { ...Object(recordedReceipt()), ...change };
}

function receipt(change: object = {}): TronReceipt {
  const read = valueOf(parseReceipt(receiptWith(change)));
  if (read === undefined) throw new Error('there is no receipt');
  return read;
}

function logWith(change: object): object {
  const { log }: { log: readonly object[] } = Object(recordedReceipt());
  return { ...log[0], ...change };
}

test('the recorded mainnet row names its transaction and the contract', () => {
  expect(valueOf(parseList(recordedList()))).toEqual({
    rows: [{ tx_id: Buffer.from(TX, 'hex'), block_timestamp: 1_786_796_664_000, contract: USDT }],
    fingerprint: undefined,
  });
});

test('the recorded mainnet receipt is one transfer of 2,700 USDT', () => {
  expect(receipt()).toMatchObject({
    block_number: 85_375_179,
    block_timestamp: 1_786_796_664_000,
    succeeded: true,
  });
  const [transfer, ...others] = valueOf(transfersIn(receipt(), USDT));
  expect(others).toEqual([]);
  expect(transfer).toEqual({
    log_index: 0,
    from: parseTronAddress('TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb'),
    to: parseTronAddress('TQW7nzmx2FqUtrA2UA211WJVPZnJXxUud8'),
    value: 2_700_000_000n,
  });
});

function none(read: TronReceipt, contract = USDT): void {
  expect(valueOf(transfersIn(read, contract))).toEqual([]);
}

test('other contracts, failed calls and other events are no transfers', () => {
  none(receipt(), Buffer.alloc(20, 1));
  none(receipt({ result: 'FAILED' }));
  none(receipt({ receipt: { result: 'REVERT' } }));
  none(receipt({ receipt: { result: 'OUT_OF_ENERGY' } }));
  // a payment in TRX names no result
  none(receipt({ receipt: { net_usage: 345 } }));
  none(receipt({ log: undefined }));
  const approval = '8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';
  none(receipt({ log: [logWith({ topics: [approval, WORD, WORD] })] }));
  none(receipt({ log: [logWith({ topics: undefined, data: undefined })] }));
});

test('log_index counts all logs, including those of other contracts', () => {
  const others = [logWith({ address: 'ab'.repeat(20) }), { address: '41' + 'cd'.repeat(20) }];
  expect(
    valueOf(
      transfersIn(
        receipt({
          log: [...others, logWith({}), logWith({ address: USDT.toString('hex').toUpperCase() })],
        }),
        USDT,
      ),
    ).map((each) => each.log_index),
  ).toEqual([2, 3]);
});

test('a malformed Transfer of the contract is a problem', () => {
  const [topic, from, to]: string[] = Object(logWith({})).topics;
  for (const change of [
    { topics: [topic, from] },
    { topics: [topic, from, to, WORD] },
    { topics: [topic, from, `01${to?.slice(2)}`] },
    { data: '' },
    { data: `${WORD}00` },
  ])
    expect(problemOf(transfersIn(receipt({ log: [logWith(change)] }), USDT))).toMatch(/^log\[0\]/);
});

test('{} is an undefined receipt; every other shape is a problem', () => {
  expect(parseReceipt({})).toEqual({ value: undefined });
  const wrong = [
    null,
    [],
    'x',
    7,
    { id: TX },
    receiptWith({ id: 'x' }),
    receiptWith({ id: `${TX}00` }),
    receiptWith({ blockNumber: '85375179' }),
    receiptWith({ blockTimeStamp: 1.5 }),
    receiptWith({ receipt: undefined }),
    receiptWith({ log: {} }),
    receiptWith({ log: [null] }),
    receiptWith({ log: [logWith({ address: 'ab' })] }),
    receiptWith({ log: [logWith({ topics: ['ab'] })] }),
    receiptWith({ log: [logWith({ data: 'abc' })] }),
  ];
  for (const json of wrong)
    expect({ json, problem: problemOf(parseReceipt(json)) }).toEqual({
      json,
      problem: expect.any(String),
    });
});

test("an answer with Error or success false is a problem with the provider's text", () => {
  const parsers = [parseHead, parseList, parseReceipt, parseBalance, parseOptionalWord] as const;
  for (const parse of parsers) {
    expect(problemOf(parse({ Error: 'class java.lang.NullPointerException : null' }))).toBe(
      'it says: class java.lang.NullPointerException : null',
    );
    expect(problemOf(parse({ success: false, error: 'system error', statusCode: 500 }))).toBe(
      'it says: system error',
    );
    expect(problemOf(parse({ success: false }))).toBe('it says: success is false');
    expect(problemOf(parse({ Error: { code: 7 } }))).toBe('it says: {"code":7}');
  }
});

function row(change: object): object {
  return { transaction_id: TX, token_info: {}, block_timestamp: 5, ...change };
}

test('an empty list is valid; a malformed or unordered list is a problem', () => {
  const meta = { at: 1, page_size: 0 };
  expect(valueOf(parseList({ data: [], success: true, meta }))).toEqual({
    rows: [],
    fingerprint: undefined,
  });
  expect(
    valueOf(parseList({ data: [row({})], success: true, meta: { ...meta, fingerprint: 'f' } })),
  ).toMatchObject({
    fingerprint: 'f',
    rows: [{ contract: undefined }],
  });
  const hexContract = row({ token_info: { address: `41${USDT.toString('hex')}` } });
  expect(
    valueOf(parseList({ data: [hexContract], success: true, meta })).rows[0]?.contract,
  ).toEqual(USDT);
  const wrong = [
    {},
    { data: [], meta },
    { data: [], success: true },
    { success: true, meta },
    { data: {}, success: true, meta },
    { data: [], success: true, meta: { ...meta, fingerprint: 7 } },
    { data: [], success: true, meta: { ...meta, fingerprint: '' } },
    ...[
      null,
      row({ transaction_id: 'x' }),
      row({ block_timestamp: '5' }),
      row({ block_timestamp: -1 }),
    ].map((each) => ({
      data: [each],
      success: true,
      meta,
    })),
    { data: [row({}), row({ block_timestamp: 4 })], success: true, meta },
  ];
  for (const json of wrong)
    expect({ json, problem: problemOf(parseList(json)) }).toEqual({
      json,
      problem: expect.any(String),
    });
});

test('the head and a balance are parsed exactly; other shapes are problems', () => {
  expect(
    valueOf(parseHead({ block_header: { raw_data: { number: 7, timestamp: 9, version: 31 } } })),
  ).toEqual({ number: 7, timestamp: 9 });
  for (const json of [{}, { block_header: {} }, { block_header: { raw_data: { number: 7 } } }])
    expect(problemOf(parseHead(json))).toEqual(expect.any(String));
  const most = 'f'.repeat(64);
  expect(valueOf(parseBalance({ result: { result: true }, constant_result: [most] }))).toBe(
    (1n << 256n) - 1n,
  );
  for (const json of [
    {},
    { result: {}, constant_result: [most] },
    { result: { result: true }, constant_result: [''] },
    { result: { result: true }, constant_result: [most, most] },
  ])
    expect(problemOf(parseBalance(json))).toEqual(expect.any(String));
  expect(toTronAddress(USDT)).toBe('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
});

const FIVE = '5'.padStart(64, '0');
const REVERTED = Buffer.from('REVERT opcode executed').toString('hex');

/** The answer to a constant call, with its result: 5 by default. */
function called(result: object, transaction?: object, words = FIVE): unknown {
  return {
    result: { result: true, ...result },
    constant_result: [words],
    ...(transaction === undefined ? {} : { transaction }),
  };
}

test.each([
  ['says nothing more', {}, undefined],
  ['has an empty message', { message: '' }, { ret: [{}] }],
  ['is a success of java-tron', {}, { ret: [{ ret: 'SUCESS' }], visible: true }],
  ['is a success', { code: 'SUCCESS' }, { ret: [{ ret: 'SUCCESS', contractRet: 'SUCCESS' }] }],
  ['names no results', {}, {}],
])('a constant call whose answer %s went well', (_what, result, transaction) => {
  const answer = called(result, transaction);
  expect([valueOf(parseBalance(answer)), valueOf(parseOptionalWord(answer))]).toEqual([5n, 5n]);
});

test.each([
  ['message and result', { message: REVERTED }, { ret: [{ ret: 'FAILED' }] }],
  ['message', { message: REVERTED }, undefined],
  ['message in plain text', { message: 'REVERT opcode executed' }, { ret: [{}] }],
  ['message of another kind', { message: 7 }, undefined],
  ['result, with an empty message', { message: '' }, { ret: [{ ret: 'FAILED' }] }],
  ['result', {}, { ret: [{ ret: 'FAILED' }] }],
  ['contract result', {}, { ret: [{ contractRet: 'REVERT' }] }],
  ['second result', {}, { ret: [{ ret: 'SUCESS' }, { ret: 'FAILED' }] }],
  ['result that nobody knows', {}, { ret: [{ ret: 7 }] }],
])(
  'a constant call that failed by its %s is no balance, and no answer of a function',
  (_what, result, transaction) => {
    expect(problemOf(parseBalance(called(result, transaction)))).toMatch('did not fail');
    const two = called(result, transaction, FIVE.repeat(8));
    expect(problemOf(parseBalances(two, 2))).toMatch('did not fail');
    for (const words of [FIVE, '', FIVE.repeat(2)])
      expect(valueOf(parseOptionalWord(called(result, transaction, words)))).toBe(0n);
  },
);

test.each([
  ['was not made', { result: false }, undefined],
  ['has a code of failure', { code: 'CONTRACT_EXE_ERROR', message: REVERTED }, undefined],
  ['has only a code', { code: 'OTHER_ERROR' }, { ret: [{}] }],
  ['has results that are no list', {}, { ret: {} }],
  ['has results that are no objects', {}, { ret: ['FAILED'] }],
  ['has a transaction that is no object', {}, []],
])('a constant call whose answer %s is a problem', (_what, result, transaction) => {
  const answer = called(result, transaction);
  for (const read of [parseBalance(answer), parseOptionalWord(answer), parseBalances(answer, 1)])
    expect(problemOf(read)).toEqual(expect.any(String));
});

test('a function that answers no word is as one that the token does not have', () => {
  for (const words of ['', 'ab', FIVE.repeat(2)])
    expect(valueOf(parseOptionalWord(called({}, undefined, words)))).toBe(0n);
  for (const words of ['xy', 'abc'])
    expect(problemOf(parseOptionalWord(called({}, undefined, words)))).toMatch('hex');
});

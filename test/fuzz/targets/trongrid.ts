import assert from 'node:assert/strict';
import {
  parseBalance,
  parseBalances,
  parseHead,
  parseList,
  parseOptionalWord,
  parseReceipt,
  transfersIn,
} from '../../../schemas/trongrid.ts';
import { recordedList, recordedReceipt } from '../../support/trongrid/recorded.ts';

export const about = "TronGrid's answers: a value or a problem, never an exception";

const WORD = '0'.repeat(24) + 'ab'.repeat(20);
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const log = { address: 'ab'.repeat(20), topics: [TRANSFER, WORD, WORD], data: '0'.repeat(64) };

export const seeds = [
  { block_header: { raw_data: { number: 1, timestamp: 2 } } },
  { success: true, data: [], meta: { fingerprint: 'a' } },
  recordedList(),
  recordedReceipt(),
  {},
  { Error: 'a' },
  {
    id: 'cd'.repeat(32),
    blockNumber: 1,
    blockTimeStamp: 2,
    receipt: { result: 'SUCCESS' },
    log: [log, { ...log, topics: [TRANSFER] }],
  },
  { result: { result: true }, constant_result: ['f'.repeat(64)] },
  { result: { result: true }, constant_result: ['f'.repeat(512)] },
  { result: { result: true, message: 'ab' }, transaction: { ret: [{ ret: 'FAILED' }] } },
]
  .map((json) => JSON.stringify(json))
  .filter(({ length }) => length <= 4_096);
export const words = [
  '"success":false',
  '"result":"FAILED"',
  '"Error":',
  TRANSFER,
  WORD,
  '"log":[',
  '"token_info":{"address":',
];

const CONTRACT = Buffer.alloc(20, 0xab);

export function fuzz(bytes: Buffer): void {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch {
    return;
  }
  const calls = [parseBalance(json), parseOptionalWord(json), parseBalances(json, 2)];
  const answers = [parseHead(json), parseList(json), ...calls];
  for (const answer of answers)
    if ('problem' in answer) assert.ok(answer.problem !== '' && answer.problem.length < 300);
  const receipt = parseReceipt(json);
  if (!('value' in receipt) || receipt.value === undefined) return;
  const transfers = transfersIn(receipt.value, CONTRACT);
  if ('problem' in transfers) return assert.notEqual(transfers.problem, '');
  for (const { from, to, value } of transfers.value)
    assert.ok(from.length === 20 && to.length === 20 && value >= 0n && value < 1n << 256n);
}

import { expect, test } from 'vitest';
import type { DepositKey } from '../../../../schemas/deposit-address.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { Findings } from '../../../../services/ops/audit/findings.ts';
import { TransferAudit } from '../../../../services/ops/audit/transfer-audit.ts';
import { depositKey, USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { requests, schemePinned } from '../../treasury/world.ts';
import { ADDRESSES } from './audited.ts';

function violations(log: readonly DepositAddressEvent[], key?: DepositKey): readonly bigint[] {
  const findings = new Findings();
  const audit = new TransferAudit(USDT_CONTRACT, findings, key);
  log.forEach((event, offset) => audit.address(event, BigInt(offset)));
  return findings.violations.map(({ offset }) => offset);
}

const OURS = schemePinned(depositKey().fingerprint);
const [FIRST = OURS, SECOND = OURS] = requests(0, 2);

test.each([
  ['the log of an older writer', ADDRESSES, []],
  ['a log with its addresses', [OURS, FIRST, SECOND], []],
  ['another key', [schemePinned(Buffer.alloc(32)), FIRST, SECOND], [0n]],
  [
    'an address of nobody',
    [OURS, FIRST, { ...SECOND, deposit_address: Buffer.alloc(20, 0xbd) }],
    [2n],
  ],
  [
    'the address of another account',
    [OURS, FIRST, { ...SECOND, deposit_address: depositKey().addressAt(0) }],
    [2n],
  ],
  ['a lost race', [OURS, { ...FIRST, sequence: 9, deposit_address: Buffer.alloc(20) }], []],
])('with the key every address is derived: %s', (_what, log, expected) => {
  expect(violations(log, depositKey())).toEqual(expected);
  expect(violations(log)).toEqual([]);
});

test('a scheme or a request that has no effect where it was written for is a violation', () => {
  const log = [
    OURS,
    FIRST,
    { ...schemePinned(Buffer.alloc(32)), sequence: 2 },
    { ...SECOND, derivation_index: 7, sequence: 3 },
    // lost races, and a repetition
    { ...schemePinned(Buffer.alloc(32)), sequence: 3 },
    { ...SECOND, derivation_index: 7 },
    { ...FIRST, sequence: 6 },
  ];
  expect(violations(log)).toEqual([2n, 3n]);
});

import { test } from 'vitest';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { specify } from '../projections/specify.ts';
import { panels } from './panels/panels.ts';

const [ALICE, BOB] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)];

function opened(account: Buffer, at: number, sequence = -1): DepositAddressEvent {
  return { type: 'PanelOpened', clt_address: account, opened_at: at, sequence };
}

const begun = specify(panels).given([opened(ALICE, 10), opened(BOB, 20)]);

test('an account has the number of its openings and the time of the last one', () => {
  begun.when([opened(ALICE, 30), opened(ALICE, 40)]).thenRows({
    panels: [
      { clt_address: ALICE, openings: 3, last_opened_at: 40 },
      { clt_address: BOB, openings: 1, last_opened_at: 20 },
    ],
  });
});

test('a record that lost a race has no effect', () => {
  const late = begun.when([opened(ALICE, 30, 1)]);
  late.thenRows({ panels: [{ openings: 1 }, { openings: 1 }] });
  late.thenFolded({ outcomes: { applied: 0, replayed: 0, ignored: 1 }, announced: [] });
});

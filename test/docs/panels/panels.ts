import { toHex } from '../../../schemas/address.ts';
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import { isInPlace } from '../../../projections/deposits/domain/address-book.ts';
import { bytesIn, countIn } from '../../../projections/contract/loaded-row.ts';
import type { Projection, Row, Table } from '../../../projections/contract/projection.ts';

const PANELS: Table = {
  name: 'panels',
  columns: { clt_address: 'bytea', openings: 'int8', last_opened_at: 'timestamptz' },
  key: ['clt_address'],
};

export const panels: Projection<DepositAddressEvent> = {
  name: 'panels',
  version: 1,
  topics: ['deposit.addresses'],
  isEvent: isDepositAddressEvent,
  tables: [PANELS],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  // the rows that the batch changes, by their keys
  loads: (batch) => {
    const accounts = batch.flatMap(({ event }) =>
      event.type === 'PanelOpened' ? [event.clt_address] : [],
    );
    return [{ name: 'panels', table: PANELS, keys: accounts }];
  },
  fold: (loaded, batch) => {
    const openings = new Map(
      loaded['panels']?.map((row) => [
        toHex(bytesIn(row, 'clt_address')),
        countIn(row, 'openings'),
      ]),
    );
    const rows = new Map<string, Row>();
    const outcomes = { applied: 0, replayed: 0, ignored: 0 };
    for (const { event, offset } of batch) {
      // a record at another offset than it was written for has lost a race
      const counts = event.type === 'PanelOpened' && isInPlace(event, offset);
      outcomes[counts ? 'applied' : 'ignored']++;
      if (!counts) continue;
      const account = toHex(event.clt_address);
      const count = (openings.get(account) ?? 0) + 1;
      openings.set(account, count);
      rows.set(account, [event.clt_address, count, event.opened_at]);
    }
    const upserts = [{ table: PANELS, rows: [...rows.values()] }];
    return {
      changes: { cuts: [], deletes: [], appends: [], upserts },
      outcomes,
      announced: [...rows.keys()],
    };
  },
};

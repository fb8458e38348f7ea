/** The treasury's `GET /arrivals`: transfers that are in custody and that the log lacks. */
import { Type, type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { TRON_ADDRESS, TRON_TX_ID } from '../deposit-api/deposits.ts';

/** A newer treasury may say more. */
const ARRIVAL = Type.Object({ address: TRON_ADDRESS, tron_tx_id: TRON_TX_ID }, { $id: 'Arrival' });
export const ARRIVALS = Type.Object({ arrivals: Type.Array(ARRIVAL) }, { $id: 'Arrivals' });

export type FoundTransfer = Static<typeof ARRIVAL>;

export function isArrivals(json: unknown): json is Static<typeof ARRIVALS> {
  return Check(ARRIVALS, json);
}

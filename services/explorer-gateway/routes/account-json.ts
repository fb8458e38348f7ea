/** Accounts, their activity and validators as JSON text; see json.ts. */
import type { Cells } from '../../runtime/postgres/pool.ts';
import { activityLabel, type Direction } from './activity-labels.ts';
import { hex, time } from './json.ts';

/** Makes the row of `accountByAddress` of this address, `0x..`, its body. */
export function accountBody(address: string): (cells: Cells) => string {
  return ([balance, nonce, transactions, activities, isContract]) =>
    `{"address":"${address}","balance":${balance},"nonce":${nonce},"tx_count":${transactions},"activity_count":${activities},` +
    `"is_contract":${isContract === 't'}}`;
}

/** Makes rows of `activityPage` of this address, `0x..`, items. The block's own effects have nobody on the other side, whatever the chain noted. */
export function activityItem(address: string): (cells: Cells) => string {
  const opening = `{"address":"${address}",`;
  return ([kind, delta, height, hash, index, type, counterparty, timestamp]) => {
    const text = delta ?? '';
    const isDebit = text.startsWith('-');
    const movement = isDebit
      ? `"delta":${text},"direction":"debit","amount":${text.slice(1)}`
      : `"delta":${text},"direction":"credit","amount":${text}`;
    const cause =
      hash === null || hash === undefined
        ? `"tx_hash":null,"block_height":${height},"tx_index":null,"function_call_type":null,"counterparty":null`
        : `"tx_hash":${hex(hash)},"block_height":${height},"tx_index":${index},"function_call_type":${JSON.stringify(type)},"counterparty":${hex(counterparty)}`;
    return `${opening}${kindFields(kind ?? '', isDebit ? 'debit' : 'credit')},${movement},${cause},"timestamp":${time(timestamp)}}`;
  };
}

function kindFields(kind: string, direction: Direction): string {
  return `"kind":${JSON.stringify(kind)},"label":${JSON.stringify(activityLabel(kind, direction))}`;
}

/** A row of `validatorsPage`. Blocks carry a producer's address alone, so its peer id is never known. */
export function validatorItem([address, isActive, produced]: Cells): string {
  return `{"address":${hex(address)},"is_active":${isActive === 't'},"blocks_produced":${produced},"peer_id":""}`;
}

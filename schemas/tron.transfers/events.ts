/**
 * Events of topic `tron.transfers`. Addresses are 20 bytes, without the prefix 0x41; transaction
 * ids 32 bytes; amounts micro-USDT; times Unix milliseconds.
 */

export interface TransferObserved {
  readonly type: 'TransferObserved';
  readonly tx_id: Buffer;
  /** index among the transaction's logs */
  readonly log_index: number;
  readonly block_number: number;
  readonly block_timestamp: number;
  readonly contract: Buffer;
  readonly from: Buffer;
  /** the deposit address */
  readonly to: Buffer;
  readonly value: bigint;
  /** derivation index of the deposit address */
  readonly address_index: number;
}

export interface CheckedAddress {
  readonly address: Buffer;
  /** every transfer solidified up to this block time precedes the record in its partition */
  readonly until: number;
}

export interface AddressesChecked {
  readonly type: 'AddressesChecked';
  readonly checked_at: number;
  readonly checked: readonly CheckedAddress[];
}

export type TransferEvent = TransferObserved | AddressesChecked;

const TYPES: Readonly<Record<TransferEvent['type'], true>> = {
  TransferObserved: true,
  AddressesChecked: true,
};

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isTransferEvent(event: { readonly type: string }): event is TransferEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** The identity of a transfer: transaction id in hex and log index. */
export function transferKey(txId: Buffer, logIndex: number): string {
  return `${txId.toString('hex')}:${logIndex}`;
}

/** Stable across retries. */
export function transferEventId(event: TransferEvent): string {
  if (event.type === 'TransferObserved') return transferKey(event.tx_id, event.log_index);
  return `${event.type}:${event.checked_at}:${event.checked.map(({ address }) => address.toString('hex').slice(0, 8)).join('.')}`;
}

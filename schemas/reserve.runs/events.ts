/** The events of topic `reserve.runs`, as they stand in its Avro schema beside this file. Figures are CLT base units; hashes are 32 bytes. */

export interface ReserveReconciled {
  readonly type: 'ReserveReconciled';
  readonly run_id: string;
  /** Unix milliseconds */
  readonly run_at: number;
  /** the first record of treasury.ledger that the figures do not know */
  readonly ledger_offset: number;
  /** the final block */
  readonly block_height: number;
  readonly block_hash: Buffer;
  readonly onchain_supply: bigint;
  readonly genesis_allocation: bigint;
  readonly treasury_minted: bigint;
  readonly burned: bigint;
  readonly ledger_liability: bigint;
  readonly custody_reported: bigint;
  readonly held: bigint;
  readonly retained_fees: bigint;
  readonly status: string;
}

/** Whether a decoded record is this topic's event: its schema has given it the shape that its type says. */
export function isReserveEvent(event: { readonly type: string }): event is ReserveReconciled {
  return event.type === 'ReserveReconciled';
}

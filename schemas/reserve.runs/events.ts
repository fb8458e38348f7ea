/** The event of topic `reserve.runs`. Amounts are CLT base units, hashes 32 bytes. */

export interface ReserveReconciled {
  readonly type: 'ReserveReconciled';
  readonly run_id: string;
  /** Unix milliseconds */
  readonly run_at: number;
  /** Unix milliseconds: the figures are at least as new; 0: unknown */
  readonly begun_at: number;
  /** the first record of treasury.ledger that the figures do not include */
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
  /** the part of `held` whose mint is requested */
  readonly minting: bigint;
  /** the part of `held` that is to be minted later, unless an operator rejects it */
  readonly waiting: bigint;
  /** the part of liability, minting and waiting that is not in custody */
  readonly uncovered: bigint;
  /** in custody and nobody's deposit, by decisions of operators */
  readonly booked_surplus: bigint;
  /** paid back to the senders of rejected deposits */
  readonly refunded: bigint;
  /** Unix milliseconds: the oldest reading of a balance that had not changed; 0: unknown */
  readonly oldest_reading_at: number;
  readonly status: string;
  /** the hash of the last record of the ledger that the figures include; none: an older writer's */
  readonly ledger_head?: Buffer;
  /** the offset that it was written for: it counts anywhere, `previous` only there; none or -1 */
  readonly sequence?: number;
  /** the hash of the record before; the writer adds it */
  readonly previous?: Buffer;
  /** the part of `held` that TRON has not shown to have arrived; it is no part of `waiting` */
  readonly unproven?: bigint;
  /** credited in the ledger, and minted in no final block */
  readonly unminted?: bigint;
  /** said to be paid back, and not shown by TRON; it is no part of `refunded` */
  readonly unproven_refunds?: bigint;
  /** in custody, and blocked by the token: it covers nothing */
  readonly frozen?: bigint;
  /** of the mint authority's key, 65 bytes; none: by `ops`, a stranger or an older writer */
  readonly signature?: Buffer;
}

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isReserveEvent(event: { readonly type: string }): event is ReserveReconciled {
  return event.type === 'ReserveReconciled';
}

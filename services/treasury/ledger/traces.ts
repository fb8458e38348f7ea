/** The traces of deposits: each record of the ledger continues that of the record before it. */
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { isDepositEvent, isTreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { isTransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Span, Traced, Tracing } from '../../runtime/process/tracing.ts';

/** Deposits, and blocks with Mints; beyond, the one that changed longest ago is forgotten. */
const KEPT_MAX = 10_000;

export class DepositTraces {
  readonly #tracing: Tracing;
  /** the newest record of each deposit, by its id, and of each block with a Mint */
  #newest = new Map<string, Traced>();

  /** To be copied at once: it changes with the next record. */
  get state() {
    return this.#newest;
  }

  restore(state: DepositTraces['state']): void {
    this.#newest = state;
  }

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** The next leg of a deposit; linked to the block that it is in. */
  continued(name: string, deposit_id: string, block_height?: number): Span {
    const block = block_height === undefined ? undefined : this.#newest.get(blockKey(block_height));
    const span = this.#tracing.continued(
      name,
      [block, this.#newest.get(deposit_id)].flatMap((each) => each ?? []),
    );
    span.set('clt.deposit', deposit_id);
    return span;
  }

  /** To be called with each record read. */
  note(event: { readonly type: string }, { traceparent }: LogRecord['headers']): void {
    const key = traceparent === undefined ? undefined : keyOf(event);
    if (key === undefined) return;
    this.#newest.delete(key);
    this.#newest.set(key, { headers: { traceparent: String(traceparent) } });
    const [oldest = ''] = this.#newest.keys();
    if (this.#newest.size > KEPT_MAX) this.#newest.delete(oldest);
  }
}

function keyOf(event: { readonly type: string }): string | undefined {
  if (isTreasuryEvent(event)) return isDepositEvent(event) ? event.deposit_id : undefined;
  if (isTransferEvent(event))
    return event.type === 'TransferObserved'
      ? depositIdOf(event.tx_id, event.log_index)
      : undefined;
  if (!isChainEvent(event) || event.type !== 'BlockAppended') return undefined;
  const hasMint = event.transactions.some((each) => each.function_call_type === 'Mint');
  return hasMint ? blockKey(event.height) : undefined;
}

function blockKey(height: number): string {
  return `block ${height}`;
}

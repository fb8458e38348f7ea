/**
 * Appends to the ledger and returns whether the events stand where they were written for: no others
 * count. The treasury makes one append at a time: each decision is based on the result of the one
 * before.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import { hashOfValue, headAfter } from '../../../schemas/hash-chain.ts';
import {
  isDepositEvent,
  treasuryEventId,
  treasuryEventKey,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { isByPolicy } from '../../../projections/deposits/domain/governance.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { LEDGER_RULES } from '../../../schemas/treasury.ledger/rules.ts';
import type { MintSigner } from '../minting/mint-signer.ts';
import { assert } from '../../runtime/process/errors.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { LogEntry } from '../../runtime/kafka/record.ts';
import type { KafkaWriter } from '../../runtime/kafka/writer.ts';
import type { Held } from '../../runtime/kafka/lease.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { NO_SPAN, type Span } from '../../runtime/process/tracing.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import { PARTITION, type Changes } from '../log-follower.ts';
import type { TreasuryMetrics } from '../metrics.ts';
import type { Books } from './books.ts';
import type { DepositTraces } from './traces.ts';

/** The loser of a race pauses, so that two treasuries do not fill the ledger with void records. */
const YIELD_MS_MIN = 100;
const YIELD_MS_MAX = 1_000;

/** Shared by the parts of one treasury. */
/** Where deposits arrive, and of which token. */
export interface Receiving {
  /** 20 bytes: the only contract whose transfers are USDT */
  readonly usdt_contract: Buffer;
  /** 20 bytes each */
  readonly custody_addresses: readonly Buffer[];
  /** derives every deposit address */
  readonly deposit_key: DepositKey;
}

export interface TreasuryContext {
  readonly books: Books;
  readonly changes: Changes;
  readonly metrics: TreasuryMetrics;
  readonly traces: DepositTraces;
  /** without it nothing is appended, sent or asked of the provider */
  readonly lease: Held;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Appends the events, signed where they need it, and reads them back; true when the records stand
 * at the offset that they were written for, so that the fold judges them. False: another writer
 * came first, and they have no effect. Without the lease it appends nothing: another treasury
 * decides.
 */
export type Append = (events: readonly TreasuryEvent[]) => Promise<boolean>;

export function ledgerWriter(
  { books, changes, metrics, traces, lease, log, signal }: TreasuryContext,
  codec: Codec,
  writer: KafkaWriter,
  ledger_topic: string,
  signer?: Pick<MintSigner, 'signDecision'>,
): Append {
  return async (decided) => {
    if (!lease.is_held) return false;
    const expected = books.ledger.end;
    const events = decided.map((event) => signedBy(signer, event, books.ledger));
    for (const event of events) {
      const rule = brokenRule(LEDGER_RULES, event);
      assert(rule === undefined, `the treasury wrote a ${event.type} without effect: ${rule}`);
    }
    const spans = events.map((event) => spanOf(event, traces));
    const entries = toEntries(codec, events, books.ledger.head, 'treasury', spans);
    const offset = await writer.append(ledger_topic, PARTITION, entries);
    await changes.until(() => books.ledger.end >= offset + BigInt(events.length));
    metrics.appended(events.length);
    for (const span of spans) {
      span.set('clt.counts', String(offset === expected));
      span.end();
    }
    if (offset === expected) return true;
    metrics.lostRace();
    log.info(
      { expected, got: offset, events: events.length },
      'another treasury wrote first, or the ledger holds a batch twice: deciding again',
    );
    await untilAborted(randomInt(YIELD_MS_MIN, YIELD_MS_MAX), signal);
    return false;
  };
}

/** With the mint authority's signature: the pin, and once it is there what needs that key. */
function signedBy(
  signer: Pick<MintSigner, 'signDecision'> | undefined,
  event: TreasuryEvent,
  { governance: { ledger_id } }: Ledger,
): TreasuryEvent {
  if (signer === undefined) return event;
  if (event.type === 'LedgerPinned')
    return { ...event, signature: signer.signDecision(event, undefined) };
  if (ledger_id === undefined) return event;
  const needsKey =
    event.type === 'PolicySet' ||
    event.type === 'OperatorsSet' ||
    event.type === 'CustodyPinned' ||
    event.type === 'MintIntended' ||
    event.type === 'MintDead' ||
    event.type === 'MintVoided' ||
    (event.type === 'DepositHeld' && !isByPolicy(event));
  return needsKey ? { ...event, signature: signer.signDecision(event, ledger_id) } : event;
}

/** From the decision to its record read back. */
function spanOf(event: TreasuryEvent, traces: DepositTraces): Span {
  if (!isDepositEvent(event)) return NO_SPAN;
  const block_height = event.type === 'MintCredited' ? event.block_height : undefined;
  return traces.continued(event.type, event.deposit_id, block_height);
}

/**
 * Events as records whose key, headers and time make sense to a plain console consumer. Each names
 * the hash of the record before it; the first one `head`, the chain's. Without `head` none does.
 */
export function toEntries(
  codec: Codec,
  events: readonly TreasuryEvent[],
  head?: Buffer,
  source = 'treasury',
  spans: readonly Span[] = [],
): readonly LogEntry[] {
  const trace_id = randomBytes(16).toString('hex');
  let previous = head;
  return events.map((event, at) => {
    const value = codec.encode(previous === undefined ? event : { ...event, previous });
    if (previous !== undefined) previous = headAfter(previous, hashOfValue(value));
    return {
      key: treasuryEventKey(event),
      value,
      headers: {
        event_id: treasuryEventId(event),
        event_type: event.type,
        schema_fingerprint: codec.fingerprintOf(event.type),
        source,
        trace_id,
        ...spans[at]?.headers,
      },
      timestamp: event.decided_at,
    };
  });
}

import assert from 'node:assert/strict';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import { BrokenChain, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { readSchemas } from '../../../services/runtime/kafka/avro-schemas.ts';
import { codecOf } from '../../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../../services/runtime/kafka/schema-registry.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { SAMPLES } from '../../schemas/golden/samples.ts';
import { confirmedEvent, depositEvents } from '../../support/deposit-events.ts';
import { BY } from '../../support/operators.ts';

export const about =
  'records of `treasury.ledger`, one after the other: the ledger folds whatever they say';

const schemas = await readSchemas([TREASURY_LEDGER]);
/** It is never asked: every id is known. */
const registry = new SchemaRegistry({ registry_url: 'http://127.0.0.1:1' });
const codec = codecOf(
  registry,
  schemas,
  schemas.map((_, at) => at + 1),
);

/** Two bytes of length before each record. */
function framed(events: readonly { readonly type: string }[]): Buffer {
  return Buffer.concat(
    events.flatMap((event) => {
      const value = codec.encode(event);
      return [Buffer.from([value.length >> 8, value.length & 0xff]), value];
    }),
  );
}

const samples = SAMPLES.filter(({ topic }) => topic === 'treasury.ledger').map(
  ({ event }) => event,
);
const policy = {
  type: 'PolicySet',
  ...BY,
  version: 1,
  network: 'testnet',
  ...NETWORK_LIMITS.testnet,
};
const confirmed = confirmedEvent();
const { held, approved, rejected, intended, credited, dead, voided, refunded } = depositEvents(
  confirmed.deposit_id,
);
const hash = Buffer.alloc(32, 1);
const intent = intended({
  to: confirmed.clt_address,
  amount: confirmed.credit,
  nonce: 1,
  tx_hash: hash,
});

export const seeds = [
  ...samples.map((event) => framed([event])),
  framed([policy, confirmed, intent, credited(hash)]),
  framed([policy, confirmed, intent, dead(hash, 1), intent]),
  framed([policy, confirmed, intent, credited(hash), voided(hash, 1), intent]),
  framed([policy, confirmedEvent({ log_index: -1, deposit_id: confirmed.deposit_id })]),
  framed([policy, held('internal_transfer'), approved(), intent, rejected(), refunded(1n)]),
].filter(({ length }) => length < 2_000);

/** The events of the bytes, each written for its place, so that it counts. */
function eventsIn(bytes: Buffer): TreasuryEvent[] {
  const events: TreasuryEvent[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const end = at + 2 + bytes.readUInt16BE(at);
    try {
      const event: object = codec.decode(bytes.subarray(at + 2, end));
      const placed = { ...event, sequence: events.length, previous: NO_RECORDS };
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- of this topic's schemas
      events.push(placed as TreasuryEvent);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
    at = end;
  }
  return events;
}

function folded(events: readonly TreasuryEvent[]): Ledger {
  const ledger = new Ledger();
  for (const [at, event] of events.entries()) {
    try {
      ledger.apply(event, BigInt(at), hash);
    } catch (error) {
      if (!(error instanceof BrokenChain)) throw error;
    }
    assert.equal(ledger.apply(event, BigInt(at), hash), 'replayed');
  }
  return ledger;
}

export function fuzz(bytes: Buffer): void {
  const events = eventsIn(bytes);
  const ledger = folded(events);
  assert.equal(ledger.end, BigInt(events.length));
  const again = folded(events);
  assert.deepEqual(again.sums, ledger.sums);
  assert.deepEqual(again.head, ledger.head);
  const { live } = ledger;
  for (const { deposit_id: id } of live.values())
    assert.equal(ledger.deposit(id).status, 'mint_requested', 'a mint in flight has its deposit');
  assert.ok(ledger.waiting_count >= 0);
  for (const requested of ledger.requested) assert.ok(ledger.requestedBy(requested.tx_hash));
}

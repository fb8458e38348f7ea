/** The figures that one block adds to its hour, also as the text in the journal. */
import type { BlockTransaction, ChainEventWithout } from '../../schemas/chain.blocks/events.ts';
import type { UndoText } from '../chain/undo-log.ts';
import { producerFees } from '../explorer/events.ts';

/** Not decoded. */
export const UNREAD = [
  'amount',
  'arguments',
  'request_referrer_fee',
  'offer_referrer_fee',
  'raw',
] as const satisfies readonly (keyof BlockTransaction)[];

export type SeriesEvent = ChainEventWithout<(typeof UNREAD)[number]>;
export type Block = Extract<SeriesEvent, { readonly type: 'BlockAppended' }>;

/** An account that became active in the block's hour, and its last hour before; null: none. */
export type Activated = readonly [address: Buffer, before: number | null];

export interface BlockPart {
  readonly hour: number;
  readonly producer: Buffer;
  readonly transactions: number;
  readonly fees: bigint;
  readonly rides: number;
  readonly fares: bigint;
  /** by how much the supply grew */
  readonly created: bigint;
  readonly activated: readonly Activated[];
}

export function partOf(block: Block, hour: number, activated: readonly Activated[]): BlockPart {
  let created = 0n;
  let fares = 0n;
  for (const { kind, delta } of block.balance_effects) {
    created += delta;
    if (kind === 'ride_pay' && delta < 0n) fares -= delta;
  }
  let rides = 0;
  for (const { function_call_type: functionCallType } of block.transactions)
    if (functionCallType === 'RideAcceptance') rides++;
  return {
    hour,
    producer: block.producer,
    transactions: block.transactions.length,
    fees: producerFees(block),
    rides,
    fares,
    created,
    activated,
  };
}

/** The JSON of a part: bytes as hex digits, amounts as decimal digits. */
interface StoredPart extends Pick<BlockPart, 'hour' | 'transactions' | 'rides'> {
  readonly producer: string;
  readonly fees: string;
  readonly fares: string;
  readonly created: string;
  readonly activated: readonly (readonly [string, number | null])[];
}

export const PART_TEXT: UndoText<BlockPart> = {
  encode: (part) => {
    const stored: StoredPart = {
      ...part,
      producer: part.producer.toString('hex'),
      fees: String(part.fees),
      fares: String(part.fares),
      created: String(part.created),
      activated: part.activated.map(([address, before]) => [address.toString('hex'), before]),
    };
    return JSON.stringify(stored);
  },
  decode: (text) => {
    const stored: StoredPart = JSON.parse(text);
    return {
      ...stored,
      producer: Buffer.from(stored.producer, 'hex'),
      fees: BigInt(stored.fees),
      fares: BigInt(stored.fares),
      created: BigInt(stored.created),
      activated: stored.activated.map(([address, before]) => [Buffer.from(address, 'hex'), before]),
    };
  },
};

/**
 * Records of a thief, made from the tables of events: every event of a topic, each field true or
 * interesting, signed by nobody, by a stranger or with the key of one operator. A thief who knows
 * the code tries records that count before others: the real fold tells which do.
 */
import type { Wallet } from 'ethers';
import { toHex } from '../../../schemas/address.ts';
import {
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../../schemas/topics.ts';
import { isTreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import { mallory } from '../../support/operators.ts';
import type { Random } from '../../support/random.ts';
import type { Forged, Signer } from './logs.ts';
import { AMOUNTS, COUNTS, Knowledge } from './subjects.ts';
import { signatureOf } from './version.ts';
import { SCHEMAS, STOLEN, type World } from './world.ts';

/** The keys that a thief has, besides those of strangers. */
export type Capability = 'nobody' | 'operator';

type Kind =
  | 'text'
  | 'count'
  | 'time'
  | 'amount'
  | 'address'
  | 'hash'
  | 'bytes'
  | 'flag'
  | 'addresses'
  | 'other';

interface Field {
  readonly name: string;
  readonly kind: Kind;
}

interface Shape {
  readonly topic: string;
  readonly type: string;
  readonly fields: readonly Field[];
}

interface Draft {
  readonly type: string;
  [field: string]: unknown;
}

/** They say where a record stands, and who wrote it. */
const PLACE: ReadonlySet<string> = new Set(['sequence', 'previous', 'signature', 'actor']);
/** How often an event is tried that moves money, against others. */
const OFTEN: ReadonlyMap<string, number> = new Map([
  ['PolicySet', 3],
  ['DepositConfirmed', 4],
  ['MintIntended', 3],
  ['MintCredited', 2],
]);
/** Candidates that are tried until one counts. */
const TRIES = 5;

const SHAPES: ReadonlyMap<string, readonly Shape[]> = Map.groupBy(
  SCHEMAS.map(({ topic: { name: topic }, event_type, text }) => shapeOf(topic, event_type, text)),
  ({ topic }) => topic,
);

export class Forger {
  readonly #world: World;
  readonly #capability: Capability;

  constructor(world: World, capability: Capability) {
    this.#world = world;
    this.#capability = capability;
  }

  /** One record or a batch in the ledger. What was written, in words. */
  ledger(random: Random): string {
    const { logs, codec } = this.#world;
    let drafts: readonly Made[] = [];
    const wants = random.chance(0.8);
    for (let tries = 0; tries < TRIES; tries++) {
      drafts = random.chance(0.08) ? this.#copy(random) : this.#batch(random);
      const events = drafts.map(({ value }) => codec.decode(value));
      if (!wants || (drafts.length > 0 && logs.wouldCount(events.filter(isTreasuryEvent)))) break;
    }
    return this.#write(TREASURY_LEDGER.name, 0, drafts);
  }

  /** A record in `reserve.runs`. */
  run(random: Random): string {
    const { newest, of_runs } = this.#world.logs;
    const [shape] = SHAPES.get(RESERVE_RUNS.name) ?? [];
    const base =
      random.chance(0.8) || of_runs.length === 0 ? newest.run : random.pick(of_runs).event;
    if (shape === undefined || base === undefined) return 'forges no run: there is none yet';
    const { now } = this.#world.time;
    const draft: Draft = {
      ...base,
      ledger_head: random.chance(0.8) ? base.ledger_head : Buffer.alloc(0),
    };
    if (random.chance(0.9)) {
      draft['run_id'] = `forged ${random.uint32()}`;
      draft['run_at'] = now;
      draft['begun_at'] = now;
    }
    draft['status'] = random.pick(['ok', 'ok', 'mismatch', 'over_backed_drift', 'fine']);
    this.#twist(draft, shape, random, random.below(3));
    if (random.chance(0.8)) {
      draft['sequence'] = Number(newest.end);
      draft['previous'] = newest.head;
    }
    // a copy keeps the signature that it had
    const made = random.chance(0.15) ? this.#made(draft, 'nobody') : this.#signed(draft, random);
    return this.#write(RESERVE_RUNS.name, 0, made === undefined ? [] : [made]);
  }

  /** A record in `tron.transfers`. */
  transfer(random: Random): string {
    const knowledge = new Knowledge(this.#world, random);
    const shape = random.pick(SHAPES.get(TRON_TRANSFERS.name) ?? []);
    const subject = knowledge.subject();
    const draft = this.#plain(shape, subject, knowledge, random);
    if (random.chance(0.6)) this.#twist(draft, shape, random, 1);
    const to = draft['to'];
    const home = Buffer.isBuffer(to) ? transferPartition(to) : 0;
    const partition = random.chance(0.9) ? home : random.below(TRON_TRANSFERS.partitions);
    const made = this.#made(draft, 'nobody');
    return this.#write(TRON_TRANSFERS.name, partition, made === undefined ? [] : [made]);
  }

  /** A record in `deposit.addresses`. */
  address(random: Random): string {
    const knowledge = new Knowledge(this.#world, random);
    const shape = random.pick(SHAPES.get(DEPOSIT_ADDRESSES.name) ?? []);
    const { book } = this.#world.logs;
    const draft = this.#plain(shape, knowledge.subject(), knowledge, random);
    if (random.chance(0.6)) draft['clt_address'] = knowledge.address();
    if (random.chance(0.6)) draft['deposit_address'] = knowledge.address();
    if (random.chance(0.3)) this.#twist(draft, shape, random, 1);
    draft['sequence'] = random.chance(0.85) ? Number(book.end) : random.pick(COUNTS);
    draft['previous'] = random.chance(0.5) ? book.head : Buffer.alloc(0);
    const made = this.#made(draft, 'nobody');
    return this.#write(DEPOSIT_ADDRESSES.name, 0, made === undefined ? [] : [made]);
  }

  #write(topic: string, partition: number, made: readonly Made[]): string {
    if (made.length === 0) return `forges nothing in ${topic}`;
    const { logs, time, codec } = this.#world;
    logs.forge(
      topic,
      partition,
      made.map(({ value, forged }) => ({ event: codec.decode(value), forged })),
      time.now,
    );
    const offset = this.#world.kafka.records(topic, partition).length - made.length;
    return `forges ${topic}/${partition}@${offset}: ${made.map(({ forged }) => forged.words).join(' + ')}`;
  }

  /** An earlier record once more, with the signature that it had, at its place or at the next. */
  #copy(random: Random): readonly Made[] {
    const { ledger, of_ledger } = this.#world.logs;
    if (of_ledger.length === 0) return [];
    const { event } = random.pick(of_ledger);
    const sequence = random.chance(0.7) ? Number(ledger.end) : event.sequence;
    const copy = this.#made({ ...event, sequence, previous: Buffer.alloc(0) }, 'nobody');
    return copy === undefined ? [] : [copy];
  }

  /** Records about one subject, one behind the other. */
  #batch(random: Random): readonly Made[] {
    const knowledge = new Knowledge(this.#world, random);
    const { ledger } = this.#world.logs;
    const shapes = SHAPES.get(TREASURY_LEDGER.name) ?? [];
    const count = random.pick([1, 1, 1, 2, 2, 3]);
    const subject = knowledge.subject();
    const made: Made[] = [];
    let of = shapes;
    for (let at = 0; at < count; at++) {
      const shape = random.pick(
        of.flatMap((each) => Array.from({ length: OFTEN.get(each.type) ?? 1 }, () => each)),
      );
      // the records of a batch are about the same deposit
      of = shapes.filter((each) => hasField(each, 'deposit_id') === hasField(shape, 'deposit_id'));
      const draft = this.#plain(shape, subject, knowledge, random);
      if (random.chance(0.5)) this.#twist(draft, shape, random, 1 + random.below(2));
      const place = Number(ledger.end) + at;
      draft['sequence'] = random.chance(0.95) ? place : random.pick(COUNTS);
      draft['previous'] = this.#previous(at, random);
      const signed = this.#signed(draft, random);
      if (signed === undefined) return [];
      made.push(signed);
    }
    return made;
  }

  #previous(at: number, random: Random): Buffer {
    if (random.chance(0.01)) return random.bytes(32);
    return at === 0 && random.chance(0.2) ? this.#world.logs.ledger.head : Buffer.alloc(0);
  }

  /** True values, as far as the subject has them. */
  #plain(
    shape: Shape,
    subject: ReadonlyMap<string, unknown>,
    knowledge: Knowledge,
    random: Random,
  ): Draft {
    const { time, logs } = this.#world;
    const draft: Draft = { type: shape.type };
    for (const { name, kind } of shape.fields)
      draft[name] = subject.get(name) ?? plainOf(kind, random);
    for (const { name, kind } of shape.fields)
      if (kind === 'time') draft[name] = subject.get(name) ?? time.now;
    if (hasField(shape, 'decided_at')) draft['decided_at'] = time.now;
    if (hasField(shape, 'version')) draft['version'] = nextVersion(shape.type, logs);
    if (hasField(shape, 'reason') && !hasField(shape, 'actor'))
      draft['reason'] = knowledge.holdReason();
    if (hasField(shape, 'deposit_ids')) Object.assign(draft, knowledge.together());
    if (hasField(shape, 'checked'))
      draft['checked'] = [{ address: knowledge.address(), until: knowledge.time() }];
    return draft;
  }

  /** Some fields get values that may break something; amounts often the same one. */
  #twist(draft: Draft, shape: Shape, random: Random, count: number): void {
    const knowledge = new Knowledge(this.#world, random);
    const fields = shape.fields.filter(({ name }) => !PLACE.has(name) && name !== 'deposit_id');
    const amounts = fields.filter(({ kind }) => kind === 'amount');
    if (amounts.length > 0 && random.chance(0.6)) {
      const amount = knowledge.amount();
      const others = random.pick([0, 0, 0.3, 0.6]);
      draft[random.pick(amounts).name] = amount;
      for (const { name } of amounts) if (random.chance(others)) draft[name] = amount;
      return;
    }
    for (let twisted = 0; twisted < count && fields.length > 0; twisted++) {
      const { name, kind } = random.pick(fields);
      draft[name] = twistOf(kind, draft[name], knowledge, random);
    }
  }

  #signed(draft: Draft, random: Random): Made | undefined {
    if (!('signature' in draft)) return this.#made(draft, 'nobody');
    const signer: Signer = random.pick(
      this.#capability === 'operator'
        ? ['operator', 'operator', 'operator', 'stranger', 'nobody']
        : ['nobody', 'nobody', 'stranger'],
    );
    if (signer === 'nobody') return this.#made({ ...draft, signature: Buffer.alloc(0) }, signer);
    const wallet: Wallet = signer === 'operator' ? STOLEN : mallory;
    const unsigned = this.#made(draft, signer);
    if (unsigned === undefined) return undefined;
    const { logs, codec } = this.#world;
    const signature = signatureOf(codec.decode(unsigned.value), wallet, logs.ledger);
    return this.#made({ ...draft, signature: signature ?? Buffer.alloc(0) }, signer);
  }

  /** Undefined where no schema takes the values. */
  #made(draft: Draft, signer: Signer): Made | undefined {
    try {
      const value = this.#world.codec.encode(draft);
      return { value, forged: { signer, words: wordsOf(draft, signer) } };
    } catch {
      return undefined;
    }
  }
}

interface Made {
  readonly value: Buffer;
  readonly forged: Forged;
}

function nextVersion(type: string, { ledger }: World['logs']): number {
  const { operators, custody, authority } = ledger.governance;
  const versions: Readonly<Record<string, number | undefined>> = {
    PolicySet: ledger.policy?.version,
    OperatorsSet: operators?.version,
    CustodyPinned: custody?.version,
    AuthoritySet: authority?.version,
  };
  return (versions[type] ?? 0) + 1;
}

function plainOf(kind: Kind, random: Random): unknown {
  switch (kind) {
    case 'text':
      return 'forged';
    case 'count':
    case 'time':
      return 0;
    case 'amount':
      return random.pick(AMOUNTS);
    case 'address':
      return random.bytes(20);
    case 'hash':
      return random.bytes(32);
    case 'bytes':
      return Buffer.alloc(0);
    case 'flag':
      return random.chance(0.5);
    case 'addresses':
    case 'other':
      return [];
  }
}

function twistOf(kind: Kind, before: unknown, knowledge: Knowledge, random: Random): unknown {
  switch (kind) {
    case 'text':
      return random.pick(['', 'forged', 'mainnet', 'testnet', 'x'.repeat(300)]);
    case 'count':
      return typeof before === 'number' && random.chance(0.4)
        ? before + random.pick([-1, 1])
        : random.pick(COUNTS);
    case 'time':
      return knowledge.time();
    case 'amount':
      return knowledge.amount();
    case 'address':
      return knowledge.address();
    case 'hash':
      return knowledge.hash();
    case 'bytes':
      return random.bytes(random.pick([0, 20, 32]));
    case 'flag':
      return before !== true;
    case 'addresses':
      return Array.from({ length: random.below(4) }, () => knowledge.address());
    case 'other':
      return before;
  }
}

function hasField({ fields }: Shape, name: string): boolean {
  return fields.some((each) => each.name === name);
}

/** Read from the text of an Avro schema. */
function shapeOf(topic: string, type: string, text: string): Shape {
  const schema: unknown = JSON.parse(text);
  const sizes = new Map<string, number>();
  const fields = listIn(schema, 'fields').map((field) => {
    const name = String(propertyIn(field, 'name'));
    return { name, kind: kindOf(propertyIn(field, 'type'), sizes) };
  });
  return { topic, type, fields };
}

function kindOf(type: unknown, sizes: Map<string, number>): Kind {
  if (typeof type === 'string') {
    const kinds: Readonly<Record<string, Kind>> = {
      string: 'text',
      int: 'count',
      long: 'count',
      boolean: 'flag',
      bytes: 'bytes',
    };
    return kinds[type] ?? (sizes.get(type) === 20 ? 'address' : 'hash');
  }
  const inner = propertyIn(type, 'type');
  if (inner === 'fixed') {
    const size = Number(propertyIn(type, 'size'));
    sizes.set(String(propertyIn(type, 'name')), size);
    return size === 20 ? 'address' : 'hash';
  }
  if (inner === 'long') return 'time';
  if (inner === 'bytes') return propertyIn(type, 'logicalType') === 'decimal' ? 'amount' : 'bytes';
  if (inner !== 'array') return 'other';
  return kindOf(propertyIn(type, 'items'), sizes) === 'address' ? 'addresses' : 'other';
}

function propertyIn(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const list = propertyIn(value, name);
  return Array.isArray(list) ? list : [];
}

function wordsOf({ type, ...fields }: Draft, signer: Signer): string {
  const said = Object.entries(fields)
    .filter(([name]) => !['previous', 'signature', 'actor', 'decided_at'].includes(name))
    .map(([name, value]) => `${name} ${textOf(value)}`);
  const by = {
    nobody: 'unsigned',
    stranger: 'signed by a stranger',
    operator: 'signed by one operator',
  };
  return `${type} (${'signature' in fields ? by[signer] : 'no signature'}) {${said.join(', ')}}`;
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.length === 0 ? 'none' : toHex(value).slice(0, 10);
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, each]) => `${name} ${textOf(each)}`)
      .join(', ')}}`;
  return String(value);
}

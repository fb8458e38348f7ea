/** Which Mints of the chain the ledger answers for, over the authorities that it has had. */
import { expect, test } from 'vitest';
import { deriveKey, type Key } from '../../../../infra/devnet/clt/keys.ts';
import { parseAddress, toHex } from '../../../../schemas/address.ts';
import type {
  AuthoritySet,
  DepositRejected,
  GovernanceEvent,
  TreasuryEvent,
} from '../../../../schemas/treasury.ledger/events.ts';
import {
  conclude,
  dueMints,
  intend,
  type Intending,
} from '../../../../projections/deposits/domain/minting.ts';
import { ChainBook } from '../../../../services/treasury/minting/chain-book.ts';
import { MintSigner } from '../../../../services/treasury/minting/mint-signer.ts';
import { ChainByHand, named, signedCall } from '../../../support/chain-by-hand.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import { BEGIN, MintLedger, USD } from '../../../support/mint-ledger.ts';
import { alice, BY, operatorsSet, signed } from '../../../support/operators.ts';

const CHAIN_ID = 7777;
const OLD = deriveKey('test', 'old authority');
const NEW = deriveKey('test', 'new authority');
const SOMEBODY = named('somebody');

function accountOf({ address }: Key): Buffer {
  return parseAddress(address) ?? Buffer.alloc(0);
}

function authoritySet(version: number, key: Key): AuthoritySet {
  return { type: 'AuthoritySet', ...BY, version, authority: accountOf(key) };
}

/** A ledger and a chain; `book` reads both from their beginning. */
class Minted {
  readonly made = new MintLedger();
  readonly chain = new ChainByHand();

  constructor() {
    this.made.setPolicy();
    this.decide(operatorsSet(alice), authoritySet(1, OLD));
  }

  get book(): ChainBook {
    const { ledger } = this.made;
    const book = new ChainBook({
      chain_id: CHAIN_ID,
      ledger,
      own: accountOf(NEW),
    });
    const events = this.chain.log.map((event, at) => ({
      event,
      partition: 0,
      offset: BigInt(at),
      timestamp: 0,
    }));
    book.fold({ events });
    return book;
  }

  /** The nonces and heights of Mints that halt minting. */
  get unexplained(): readonly (readonly [nonce: number, height: number])[] {
    return this.book.unexplained.map(({ nonce, block_height }) => [nonce, block_height]);
  }

  release(deposit_id: string): void {
    this.decide(depositEvents(deposit_id).rejected());
  }

  decide(...events: readonly (GovernanceEvent | DepositRejected)[]): void {
    for (const event of events)
      this.made.writeAll([signed({ ...event, sequence: this.made.log.length }, alice)]);
  }

  write(...events: readonly TreasuryEvent[]): void {
    this.made.writeAll(events);
  }

  intending(key: Key): Intending {
    const signer = new MintSigner(key.signing_key.privateKey, CHAIN_ID);
    const { book } = this;
    return {
      now: BEGIN,
      final_nonce: book.sender.final_nonce,
      most: 50,
      hashOf: (call) => signer.sign(call).tx_hash,
      isOver: (mint) => book.isOver(mint),
    };
  }

  /** Requests what is due with this key. */
  request(key: Key): void {
    this.write(...intend(this.made.ledger, this.intending(key)).events);
  }

  due(key: Key): readonly string[] {
    return dueMints(this.made.ledger, this.intending(key)).map(
      ({ deposit_id: depositId }) => depositId,
    );
  }

  conclude(): readonly string[] {
    const { sender } = this.book;
    const at = { now: BEGIN, most: 50 };
    const { events } = conclude(this.made.ledger, (nonce) => sender.finalAt(nonce), at);
    this.write(...events);
    return events.map(({ type }) => type);
  }

  /** A final block with a mint of this nonce, by default the one in flight. */
  mineMint(key: Key, nonce: number, mint = this.made.ledger.live.get(nonce)): void {
    if (mint === undefined) throw new Error(`no mint has nonce ${nonce}`);
    const { deposit_id: depositId, to, amount } = mint;
    const reference = `0x${depositId.replaceAll('-', '')}${'0'.repeat(32)}`;
    this.mine(key, nonce, { to, amount, reference });
  }

  mine(
    key: Key,
    nonce: number,
    {
      to = SOMEBODY,
      amount = 5n,
      reference = null,
    }: { readonly to?: Buffer; readonly amount?: bigint; readonly reference?: string | null } = {},
  ): void {
    const args = { to: toHex(to), amount, reference };
    this.chain.append({
      transactions: [
        signedCall(key, nonce, { function_call_type: 'Mint', arguments: args }, CHAIN_ID),
      ],
      effects: [{ address: to, kind: 'mint', delta: amount, tx_index: 0 }],
    });
    this.chain.finalize();
  }

  mineTransfer(key: Key, nonce: number): void {
    const args = { to: toHex(SOMEBODY), amount: 1n };
    const call = { function_call_type: 'Transfer', arguments: args } as const;
    this.chain.append({ transactions: [signedCall(key, nonce, call, CHAIN_ID)] });
    this.chain.finalize();
  }
}

function begun(): Minted {
  const world = new Minted();
  world.chain.append();
  return world;
}

test('a Mint of the authority before the pinned baseline needs no intent, one after it does', () => {
  const world = begun();
  world.mine(OLD, 0);
  expect(world.unexplained).toEqual([[0, 1]]);
  world.decide({
    type: 'BaselinePinned',
    ...BY,
    block_height: 1,
    block_hash: named('block 1', 32),
    supply: 1_005n,
    liability: 5n,
  });
  expect(world.unexplained).toEqual([]);
  world.mine(OLD, 1);
  expect(world.unexplained).toEqual([[1, 2]]);
});

test('an acknowledged Mint is explained, if it is as the operator says', () => {
  const world = begun();
  world.mine(OLD, 0);
  const [mint] = world.book.unexplained;
  if (mint === undefined) throw new Error('it is explained already');
  const about = { tx_hash: mint.tx_hash, to: SOMEBODY, block_height: 1 };
  world.decide({ type: 'MintAcknowledged', ...BY, ...about, amount: 5n });
  expect(world.unexplained).toEqual([]);

  const other = begun();
  other.mine(OLD, 0);
  other.decide({ type: 'MintAcknowledged', ...BY, ...about, amount: 6n });
  expect(other.unexplained).toEqual([[0, 1]]);
});

test('a deposit whose mint was dead under the authority before is minted by the new one, whose nonces begin again', () => {
  const world = begun();
  const id = world.made.deposit(8n * USD);
  for (let nonce = 0; nonce < 3; nonce++) world.mineTransfer(OLD, nonce);
  world.request(OLD);
  world.mineTransfer(OLD, 3);
  expect(world.conclude()).toEqual(['MintDead']);
  world.decide(authoritySet(2, NEW));
  // its own next nonce is 0, which says nothing of nonce 3 of the authority before
  expect(world.due(NEW)).toEqual([id]);
  world.request(NEW);
  expect([...world.made.ledger.live.values()]).toMatchObject([{ deposit_id: id, nonce: 0 }]);
  world.mineMint(NEW, 0);
  expect(world.conclude()).toEqual(['MintCredited']);
  expect(world.unexplained).toEqual([]);
});

test('a mint of the authority before that somebody only says is dead keeps its deposit waiting, whatever the new one has used', () => {
  const world = begun();
  const id = world.made.deposit(8n * USD);
  world.request(OLD);
  const [mint] = world.made.ledger.live.values();
  if (mint === undefined) throw new Error('nothing was requested');
  world.write(depositEvents(id).dead(mint.tx_hash, mint.nonce));
  world.decide(authoritySet(2, NEW));
  for (let nonce = 0; nonce < 3; nonce++) world.mineTransfer(NEW, nonce);
  expect(world.due(NEW)).toEqual([]);
  world.mineTransfer(OLD, 0);
  expect(world.due(NEW)).toEqual([id]);
});

test('a Mint of an authority before that nobody requested is unexplained', () => {
  const world = begun();
  world.decide(authoritySet(2, NEW));
  world.mine(NEW, 0);
  world.mine(OLD, 0);
  expect(world.unexplained).toEqual([
    [0, 1],
    [0, 2],
  ]);
});

test('a final Mint whose intent is given up afterwards is unexplained, and is not minted again', () => {
  const world = begun();
  const id = world.made.deposit(8n * USD);
  world.request(OLD);
  const [mint] = world.made.ledger.live.values();
  if (mint === undefined) throw new Error('nothing was requested');
  world.mineMint(OLD, 0);
  const { book } = world;
  expect(book.unexplained).toEqual([]);
  world.write(depositEvents(id).dead(mint.tx_hash, 0));
  expect(book.unexplained).toHaveLength(1);
  expect(world.due(OLD)).toEqual([]);
  world.decide({
    type: 'MintAcknowledged',
    ...BY,
    tx_hash: mint.tx_hash,
    to: mint.to,
    amount: mint.amount,
    block_height: 1,
  });
  expect(book.unexplained).toEqual([]);
  expect(world.due(OLD)).toEqual([]);
});

/** An operator releases a forged intent whose nonce the chain never reaches. */
function releasedForgery(): Minted {
  const world = begun();
  const id = world.made.deposit(8n * USD);
  const { clt_address: cltAddress } = confirmedEvent();
  const tx_hash = Buffer.alloc(32, 0xbad);
  world.write(
    depositEvents(id).intended({ to: cltAddress, amount: 8n * USD, nonce: 2 ** 50, tx_hash }),
  );
  world.release(id);
  return world;
}

test('after a forged intent far ahead was released, minting goes on, with the same key or another', () => {
  for (const key of [OLD, NEW]) {
    const world = releasedForgery();
    if (key === NEW) world.decide(authoritySet(2, NEW));
    const id = world.made.deposit(9n * USD);
    world.request(key);
    expect([...world.made.ledger.live.values()]).toMatchObject([{ deposit_id: id, nonce: 0 }]);
    world.mineMint(key, 0);
    expect(world.conclude()).toEqual(['MintCredited']);
    expect(world.unexplained).toEqual([]);
  }
});

test('a released mint that becomes final is unexplained until it is acknowledged, and takes the nonce of the next', () => {
  const world = begun();
  const id = world.made.deposit(8n * USD);
  world.request(OLD);
  const [mint] = world.made.ledger.live.values();
  if (mint === undefined) throw new Error('nothing was requested');
  world.release(id);
  const next = world.made.deposit(9n * USD);
  world.request(OLD);
  expect([...world.made.ledger.live.values()]).toMatchObject([{ deposit_id: next, nonce: 0 }]);
  world.mineMint(OLD, 0, mint);
  expect(world.unexplained).toEqual([[0, 1]]);
  expect(world.conclude()).toEqual(['MintDead']);
  expect(world.unexplained).toEqual([[0, 1]]);
  expect(world.due(OLD)).toEqual([next]);
  const { tx_hash, to, amount } = mint;
  world.decide({ type: 'MintAcknowledged', ...BY, tx_hash, to, amount, block_height: 1 });
  expect(world.unexplained).toEqual([]);
  world.request(OLD);
  world.mineMint(OLD, 1);
  expect(world.conclude()).toEqual(['MintCredited']);
  expect([world.unexplained, world.due(OLD)]).toEqual([[], []]);
});

test('an authority that the ledger names later is not followed', () => {
  const world = begun();
  const { book } = world;
  world.decide(authoritySet(2, NEW));
  expect(book.is_complete).toBe(true);
  world.decide(authoritySet(3, deriveKey('test', 'a third')));
  expect(book.is_complete).toBe(false);
});

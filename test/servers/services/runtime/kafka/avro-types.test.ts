import { expect, inject, test } from 'vitest';
import type { BlockAppended } from '../../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../../../schemas/topics.ts';
import { Fault } from '../../../../../services/runtime/process/errors.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { Random } from '../../../../support/random.ts';
import { openCodec } from '../../../../support/codec.ts';

test('bytes that end too early or have an endless length are undecodable at once', async () => {
  const codec = await openCodec(inject('stack').registry_url, [CHAIN_BLOCKS]);
  const [event] = chainEvents({ seed: 3, blocks: 1, transactions_per_block: 3 });
  if (event?.type !== 'BlockAppended') throw new Error('a chain begins with a block');
  const whole = codec.encode(event);
  for (let length = 0; length < whole.length; length++) {
    expect(
      () => codec.decode(whole.subarray(0, length)),
      `${length} of ${whole.length} bytes`,
    ).toThrow(Fault);
  }
  const block: BlockAppended = { ...event, transactions: [], balance_effects: [] };
  const empty = codec.encode(block);
  // the two empty lists are a zero byte each; this claims 2^31 transactions without any bytes
  const endless = Buffer.concat([empty.subarray(0, -2), Buffer.from('8080808010', 'hex')]);
  expect(() => codec.decode(endless)).toThrow(/do not fit/);
});

test('fields that nobody reads are skipped whole, and all others keep their values', async () => {
  const { registry_url: registryUrl } = inject('stack');
  const codec = await openCodec(registryUrl, [CHAIN_BLOCKS]);
  const lean = await openCodec(registryUrl, [CHAIN_BLOCKS], { Transaction: ['arguments', 'raw'] });
  let transactions = 0;
  for (const event of chainEvents({
    seed: 4,
    blocks: 20,
    transactions_per_block: 5,
    reorg_probability: 0.2,
  })) {
    const bytes = codec.encode(event);
    const read = lean.decode(bytes);
    for (const each of 'transactions' in read && Array.isArray(read.transactions)
      ? read.transactions
      : []) {
      expect(each).toMatchObject({ arguments: undefined, raw: undefined });
      const written = event.type === 'BlockAppended' ? event.transactions[each.index] : undefined;
      Object.assign(each, { arguments: written?.arguments, raw: written?.raw });
      transactions++;
    }
    expect(read).toEqual(event);
    for (const length of [bytes.length - 1, bytes.length >> 1])
      expect(() => lean.decode(bytes.subarray(0, length))).toThrow(Fault);
  }
  expect(transactions).toBeGreaterThan(20);
});

test('each of ten thousand addresses is read as written, also those that differ in one bit', async () => {
  const codec = await openCodec(inject('stack').registry_url, [CHAIN_BLOCKS]);
  const [event] = chainEvents({ seed: 3, blocks: 1, transactions_per_block: 3 });
  if (event?.type !== 'BlockAppended') throw new Error('a chain begins with a block');
  const random = new Random(5);
  const one = random.bytes(20);
  const flipped = Array.from({ length: 160 }, (_, bit) =>
    Buffer.from(one.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))),
  );
  const addresses = [
    ...flipped,
    ...Array.from({ length: 10_000 }, () => random.bytes(20)),
    one,
    ...flipped,
  ];
  const block: BlockAppended = {
    ...event,
    balance_effects: addresses.map((address) => ({
      address,
      kind: 'mint',
      delta: 1n,
      tx_index: null,
      counterparty: null,
    })),
  };
  for (let time = 0; time < 2; time++) expect(codec.decode(codec.encode(block))).toEqual(block);
});

test('each of thousands of texts is read as written: short, long, empty, in any script, or one letter apart', async () => {
  const codec = await openCodec(inject('stack').registry_url, [CHAIN_BLOCKS]);
  const [event] = chainEvents({ seed: 3, blocks: 1, transactions_per_block: 3 });
  if (event?.type !== 'BlockAppended') throw new Error('a chain begins with a block');
  const address = event.producer;
  const lengths = Array.from({ length: 40 }, (_, length) => [
    'a'.repeat(length),
    'a'.repeat(Math.max(0, length - 1)) + 'b',
    'é'.repeat(length),
  ]);
  const kinds = [
    ...lengths.flat(),
    '\0',
    '\ufeff',
    '𝄞 "100%_"',
    ...Array.from({ length: 3_000 }, (_, at) => `kind ${at}`),
  ];
  const block: BlockAppended = {
    ...event,
    balance_effects: [...kinds, ...kinds.toReversed()].map((kind) => ({
      address,
      kind,
      delta: 1n,
      tx_index: null,
      counterparty: null,
    })),
  };
  for (let time = 0; time < 2; time++) expect(codec.decode(codec.encode(block))).toEqual(block);
});

test('arguments with an endless length are undecodable at once, read or skipped', async () => {
  const { registry_url: registryUrl } = inject('stack');
  const event = [...chainEvents({ seed: 3, blocks: 5, transactions_per_block: 3 })].find(
    (each) => each.type === 'BlockAppended' && each.transactions.length > 0,
  );
  const [transaction] = event?.type === 'BlockAppended' ? event.transactions : [];
  if (event === undefined || transaction === undefined)
    throw new Error('there is a block with a transaction');
  const name = 'a name that is nowhere else';
  const block = { ...event, transactions: [{ ...transaction, arguments: { [name]: null } }] };
  for (const unread of [{}, { Transaction: ['arguments'] }]) {
    const codec = await openCodec(registryUrl, [CHAIN_BLOCKS], unread);
    const bytes = codec.encode(block);
    const at = bytes.indexOf(name) - 2;
    // one entry, of 27 letters; 2^31 of them instead
    expect(bytes.subarray(at, at + 2).toString('hex')).toBe('0236');
    const endless = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from('8080808010', 'hex'),
      bytes.subarray(at + 1),
    ]);
    expect(() => codec.decode(endless)).toThrow(/do not fit/);
  }
});

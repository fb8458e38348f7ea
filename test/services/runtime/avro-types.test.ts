import { expect, inject, test } from 'vitest';
import type { BlockAppended } from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import { openCodec } from '../../../services/runtime/codec.ts';
import { Fault } from '../../../services/runtime/errors.ts';
import { chainEvents } from '../../support/chain.ts';

test('bytes that end too early, or claim to go on for ever, are undecodable at once', async () => {
  const codec = await openCodec(inject('stack').registry_url, [CHAIN_BLOCKS]);
  const [event] = chainEvents({ seed: 3, blocks: 1, transactions_per_block: 3 });
  if (event?.type !== 'BlockAppended') throw new Error('a chain begins with a block');
  const whole = codec.encode(event);
  for (let length = 0; length < whole.length; length++) {
    expect(() => codec.decode(whole.subarray(0, length)), `${length} of ${whole.length} bytes`).toThrow(Fault);
  }
  const block: BlockAppended = { ...event, transactions: [], balance_effects: [] };
  const empty = codec.encode(block);
  // the two empty lists are a zero byte each: one of 2^31 transactions instead, of which there are none
  const endless = Buffer.concat([empty.subarray(0, -2), Buffer.from('8080808010', 'hex')]);
  expect(() => codec.decode(endless)).toThrow(/do not fit/);
});

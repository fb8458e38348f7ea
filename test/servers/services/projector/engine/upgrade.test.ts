/**
 * A rolling upgrade to a version with a new event. The old version is one whose declaration of the
 * topic lacks the event `BlockReverted`. docs/operations/upgrade.md is about this.
 */
import { beforeAll, expect, inject, test } from 'vitest';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../../../schemas/topics.ts';
import type { Codec } from '../../../../../services/runtime/kafka/codec.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { openCodec } from '../../../../support/codec.ts';
import { freshDatabase } from '../../../../support/database.ts';
import {
  expectHalted,
  expectProjected,
  openOwnLog,
  openProjected,
  startRunner,
  type Projected,
} from '../../../../services/projector/engine/running.ts';

const NEW_EVENT = 'BlockReverted';
const OLD_CHAIN_BLOCKS = {
  ...CHAIN_BLOCKS,
  events: CHAIN_BLOCKS.events.filter(({ type }) => type !== NEW_EVENT),
};

const stack = inject('stack');
let writerUrl: string;
let oldCodec: Codec;
const events: readonly ChainEvent[] = [
  ...chainEvents({ seed: 41, blocks: 40, reorg_probability: 0.1 }),
];
const firstNew = events.findIndex(({ type }) => type === NEW_EVENT);

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
  oldCodec = await openCodec(stack.registry_url, [OLD_CHAIN_BLOCKS]);
});

async function open(): Promise<Projected> {
  return openProjected(await openOwnLog(stack), writerUrl);
}

test('writers before readers: an old projector halts at the first new event, and goes on there once it is upgraded', async () => {
  const { log, ...tables } = await open();
  const old = startRunner({ ...log, codec: oldCodec }, tables);
  await log.append(events);
  await expectHalted(old, /BlockReverted.*upgrade this reader first/, /upgrade this one/);
  await expectProjected(tables, events.slice(0, firstNew));
  await old.stop();
  const restarted = startRunner({ ...log, codec: oldCodec }, tables);
  await expectHalted(restarted, /upgrade/, /upgrade this one/);
  await expectProjected(tables, events.slice(0, firstNew));
  await restarted.stop();

  const upgraded = startRunner(log, tables);
  await expectProjected(tables, events);
  await expect.poll(() => upgraded.runner.status).toEqual({ status: 'running' });
});

test('readers before writers: an upgraded projector reads the records of old and new writers, and nothing halts', async () => {
  const { log, ...tables } = await open();
  const upgraded = startRunner(log, tables);
  await expect.poll(() => upgraded.runner.status).toEqual({ status: 'running' });
  const oldWriter = { ...log, codec: oldCodec };
  expect(() => oldWriter.codec.encode(events[firstNew] ?? { type: '' })).toThrow(NEW_EVENT);
  await log.append(events.slice(0, firstNew));
  await expectProjected(tables, events.slice(0, firstNew));
  await log.append(events.slice(firstNew));
  await expectProjected(tables, events);
  expect(upgraded.runner.status).toEqual({ status: 'running' });
});

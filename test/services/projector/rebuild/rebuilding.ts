/**
 * Shared by tests of rebuilds: a running projection, and rebuilds in this process or in their own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Projection } from '../../../../projections/contract/projection.ts';
import type { ExplorerEvent } from '../../../../projections/explorer/events.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import type { RebuildOptions } from '../../../../services/projector/rebuild/rebuild.ts';
import { never, silentLog } from '../../../support/kafka.ts';
import { openOwnLog, openProjected, type Projected } from '../engine/running.ts';
import type { Addresses } from '../../../../infra/services/services.ts';

export interface World extends Projected {
  readonly writer_url: string;
}

/** Tables of a projection and a topic of their own, not loaded yet unless `indexed`. */
export async function openWorld(
  stack: Addresses,
  writerUrl: string,
  indexed = true,
): Promise<World> {
  const log = await openOwnLog(stack);
  return { ...(await openProjected(log, writerUrl, { indexed })), writer_url: writerUrl };
}

export function optionsOf(
  { projection, log, writer_url }: World,
  more: Partial<RebuildOptions<ExplorerEvent>> = {},
): RebuildOptions<ExplorerEvent> {
  return {
    projection,
    postgres_url: writer_url,
    kafka: log.kafka,
    codec: log.codec,
    log: silentLog(),
    signal: never,
    ...more,
  };
}

/** Appends a few events at a time until told to stop; how many there are then. */
export function appendOn(
  { log }: World,
  events: readonly ChainEvent[],
  from: number,
): { stop(): Promise<number> } {
  const over = new AbortController();
  const appending = (async (): Promise<number> => {
    let at = from;
    for (; !over.signal.aborted && at < events.length; at += 2) {
      await log.append(events.slice(at, at + 2));
      await after(10);
    }
    return Math.min(at, events.length);
  })();
  const stop = (): Promise<number> => {
    over.abort();
    return appending;
  };
  onTestFinished(() => void stop());
  return { stop };
}

export interface Rebuilding {
  /** everything it has printed so far */
  printed(): string;
  kill(): Promise<void>;
  /** its exit code */
  ended(): Promise<number | null>;
}

/** A rebuild in a process of its own. */
export function spawnRebuild({ log, projection, writer_url: url }: World): Rebuilding {
  const { name, version }: Pick<Projection, 'name' | 'version'> = projection;
  const given = {
    name,
    version,
    topic: log.topic,
    postgres_url: url,
    kafka_brokers: log.stack.kafka_brokers,
    registry_url: log.stack.registry_url,
  };
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'rebuild.fixture.ts'), JSON.stringify(given)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exit = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    printed: () => output,
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
    async ended() {
      await exit;
      return child.exitCode;
    },
  };
}

/** What rebuild and verify share in how they are asked and in what they say while they work. */
import { PROJECTIONS, type Named } from '../../projector/registry.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import type { RebuildStep } from '../../projector/rebuild/progress.ts';
import type { RebuildOptions } from '../../projector/rebuild/rebuild.ts';
import { topicsOf } from '../../projector/engine/skips.ts';
import { readRebuildConfig } from './config.ts';
import { didYouMean, Misuse } from '../usage.ts';

export const NAMES = PROJECTIONS.map(({ name }) => name);

/** Runs a rebuild or a verification of this projection, with all that it needs, until it ends or this process is told to stop. */
export async function withRebuildOptions<Outcome>(
  named: Named,
  {
    stack_file,
    json,
    afresh,
  }: { readonly stack_file: string; readonly json: boolean; readonly afresh: boolean },
  use: <Event extends { readonly type: string }>(
    options: RebuildOptions<Event>,
  ) => Promise<Outcome>,
): Promise<Outcome> {
  const config = readRebuildConfig(process.env, stack_file);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return await named.with(async (projection) => {
    const codec = await openCodec(config.registry_url, topicsOf(projection), projection.unread);
    const kafka = openKafka({ ...config, client_id: 'ops' }, log);
    const onStep = json ? sayJson : sayText();
    return await use({
      ...config,
      projection,
      kafka,
      codec,
      log,
      signal: stop.signal,
      onStep,
      afresh,
    });
  });
}

/** The one that is asked for. Throws `Misuse`. */
export function projectionOf(words: readonly string[], usage: string): Named {
  const [name, ...others] = words;
  if (name === undefined) throw new Misuse(`which projection? one of: ${NAMES.join(', ')}`, usage);
  if (others.length > 0)
    throw new Misuse(`one projection at a time, not "${words.join(' ')}"`, usage);
  const found = PROJECTIONS.find((each) => each.name === name);
  if (found === undefined)
    throw new Misuse(`there is no projection ${name}${didYouMean(name, NAMES)}`, usage);
  return found;
}

function sayJson(step: RebuildStep): void {
  process.stdout.write(
    `${JSON.stringify(step, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))}\n`,
  );
}

/** A line for each second; the same one only once. */
function sayText(): (step: RebuildStep) => void {
  let last = '';
  return (step) => {
    const line = stepText(step);
    if (line !== last) process.stdout.write(`${line}\n`);
    last = line;
  };
}

export function stepText({
  step,
  what,
  records,
  records_behind: behind,
  records_per_second: rate,
  seconds_left: left,
}: RebuildStep): string {
  const pace = rate === undefined ? '' : `, ${rate} a second`;
  const time = left === undefined || behind === 0n ? '' : `, about ${left} s left`;
  switch (step) {
    case 'loading':
      return `loading      ${records} records folded, ${behind} to go${pace}${time}`;
    case 'indexing':
      return `indexing     ${what ?? ''}`.trimEnd();
    case 'catching_up':
      return `catching up  ${behind} records behind${pace}`;
    case 'switching':
    case 'comparing':
      return step;
  }
}

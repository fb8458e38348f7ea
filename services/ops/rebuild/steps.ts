/** What `ops rebuild` and `ops verify` share: their servers, and the text of their progress. */
import { PROJECTIONS } from '../../projector/registry.ts';
import { topicsOf } from '../../projector/engine/skips.ts';
import type { RebuildStep } from '../../projector/rebuild/progress.ts';
import type { RebuildOptions, RebuildRefusal } from '../../projector/rebuild/rebuild.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { KAFKA, POSTGRES, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, print, stopAtSignals } from '../connections.ts';
import { Misuse, type SharedArguments } from '../usage.ts';

export interface ProjectionArguments extends SharedArguments {
  readonly projection: string;
  readonly afresh: boolean | undefined;
}

/** Runs a rebuild or a verification until it ends or a signal stops it. Throws `Misuse`. */
export async function withProjection<Result extends object>(
  args: ProjectionArguments,
  work: <Event extends { readonly type: string }>(
    options: RebuildOptions<Event>,
  ) => Promise<Result | RebuildRefusal>,
): Promise<Result> {
  const { projection: name, afresh = false, json, stack } = args;
  const named = PROJECTIONS.find((each) => each.name === name);
  if (named === undefined) throw new Misuse(`there is no projection ${name}`);
  const config = readSettings({ ...KAFKA, ...REGISTRY, ...POSTGRES }, stack);
  const { signal } = stopAtSignals();
  const onStep = json === true ? (step: RebuildStep) => print(jsonOf(step)) : printChanges();
  const outcome = await named.with(async (projection) => {
    const codec = await openCodec(config.registry_url, topicsOf(projection), projection.unread);
    const kafka = kafkaOf(config);
    return work({ ...config, projection, kafka, codec, log: LOG, signal, onStep, afresh });
  });
  if ('refused' in outcome) throw new Misuse(outcome.message);
  return outcome;
}

/** Prints a line a second, and the same line only once. */
function printChanges(): (step: RebuildStep) => void {
  let last = '';
  return (step) => {
    const line = stepText(step);
    if (line !== last) print(line);
    last = line;
  };
}

export function stepText(progress: RebuildStep): string {
  const { step, what = '', records, records_behind: behind } = progress;
  const { records_per_second: rate, seconds_left: left } = progress;
  const pace = rate === undefined ? '' : `, ${rate} a second`;
  const time = left === undefined || behind === 0n ? '' : `, about ${left} s left`;
  switch (step) {
    case 'loading':
      return `loading      ${records} records folded, ${behind} to go${pace}${time}`;
    case 'indexing':
      return `indexing     ${what}`.trimEnd();
    case 'catching_up':
      return `catching up  ${behind} records behind${pace}`;
    case 'switching':
    case 'comparing':
      return step;
  }
}

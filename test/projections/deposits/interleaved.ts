/** Partitions of several topics in batches, interleaved as a projector may receive them. */
import { Random } from '../../support/random.ts';
import type { Stretch } from '../folded-tables.ts';

/**
 * Each log is one partition, whose batches come in order. `back`: how far a batch may overlap the
 * one before it.
 */
export function interleaved<Event>(
  logs: readonly { readonly partition: number; readonly events: readonly Event[] }[],
  options: { readonly seed: number; readonly size_max: number; readonly back?: number },
): readonly Stretch<Event>[] {
  const random = new Random(options.seed);
  const nexts = logs.map(() => 0);
  const stretches: Stretch<Event>[] = [];
  for (;;) {
    const open = logs.flatMap(({ events }, at) => ((nexts[at] ?? 0) < events.length ? [at] : []));
    if (open.length === 0) return stretches;
    const at = random.pick(open);
    const { partition, events } = logs[at] ?? { partition: 0, events: [] };
    const next = nexts[at] ?? 0;
    const from = Math.max(0, next - random.below((options.back ?? 0) + 1));
    const end = Math.min(events.length, next + 1 + random.below(options.size_max));
    stretches.push({ partition, from, events: events.slice(from, end) });
    nexts[at] = end;
  }
}

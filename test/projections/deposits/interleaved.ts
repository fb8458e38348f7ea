/** Several partitions of several topics, cut into batches and interleaved, as projectors may come to see them. */
import { Random } from '../../support/random.ts';
import type { Stretch } from './memory-tables.ts';

/** Each log is one partition; the stretches of one come in its order. `back`: how far a stretch may reach over what the one before of its log held. */
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

/** How each service of the stack is, by its own /ready, and what its /metrics say that a person wants to know first. */
import { messageOf } from '../../runtime/process/errors.ts';

export interface LocalService {
  readonly name: string;
  readonly url: string;
}

export interface ServiceHealth extends LocalService {
  readonly ready: boolean;
  /** in its own words */
  readonly matter: string | null;
  /** by what they are called here; those it has */
  readonly figures: Readonly<Record<string, number>>;
}

const ANSWER_MS = 4_000;

/** What is shown, under which words, and by which label apart. */
const SHOWN: readonly (readonly [words: string, metric: string, label?: string])[] = [
  ['node height', 'chain_node_height'],
  ['log height', 'chain_log_height'],
  ['records behind', 'projection_lag_records'],
  ['records behind', 'treasury_lag_records'],
  ['deposits', 'treasury_queue_deposits', 'status'],
  ['oldest in seconds', 'treasury_queue_oldest_seconds', 'status'],
  ['minting closed', 'treasury_minting_closed'],
  ['newest run', 'reserve_newest_run', 'status'],
  ['its age in seconds', 'reserve_newest_run_age_seconds'],
  ['reserve', 'reserve_amount', 'figure'],
  ['partitions watched', 'tron_partitions_assigned'],
  ['longest unasked in seconds', 'tron_cold_check_age_seconds'],
  ['sockets', 'hub_sockets'],
  ['behind', 'hub_sockets_behind'],
  ['deliveries', 'hub_deliveries'],
];

/** One after the other's failure does not matter: each is asked by itself. */
export function readServices(services: readonly LocalService[]): Promise<readonly ServiceHealth[]> {
  return Promise.all(services.map(read));
}

async function read({ name, url }: LocalService): Promise<ServiceHealth> {
  const own = { name, url };
  try {
    const [ready, metrics] = await Promise.all([ask(`${url}/ready`), ask(`${url}/metrics`)]);
    const figures = figuresIn(metrics.text);
    return ready.ok
      ? { ...own, ready: true, matter: null, figures }
      : { ...own, ready: false, matter: matterIn(ready.text), figures };
  } catch (error) {
    return { ...own, ready: false, matter: `does not answer: ${messageOf(error)}`, figures: {} };
  }
}

async function ask(url: string): Promise<{ readonly ok: boolean; readonly text: string }> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
  return { ok: answer.ok, text: await answer.text() };
}

/** The message of an error body, whatever the service's shape of it. */
function matterIn(body: string): string {
  return (
    /"message":"((?:[^"\\]|\\.)*)"/.exec(body)?.[1]?.replaceAll(/\\(.)/g, '$1') ??
    body.slice(0, 200)
  );
}

const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm;

function figuresIn(text: string): Readonly<Record<string, number>> {
  const figures = new Map<string, number>();
  for (const [, metric, labels = '', value] of text.matchAll(SAMPLE)) {
    for (const [words, shown, label] of SHOWN) {
      if (shown !== metric) continue;
      const part =
        label === undefined ? undefined : new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1];
      const called = part === undefined ? words : `${words} ${part}`;
      figures.set(called, (figures.get(called) ?? 0) + Number(value));
    }
  }
  return Object.fromEntries(figures);
}

/** For people: one line a service. */
export function serviceLines(services: readonly ServiceHealth[]): readonly string[] {
  return services.map(({ name, ready, matter, figures }) => {
    const said = Object.entries(figures).map(
      ([words, value]) => `${words} ${Number.isInteger(value) ? value : value.toFixed(1)}`,
    );
    return `service     ${name.padEnd(22)} ${[ready ? 'ready' : `NOT READY: ${matter ?? ''}`, ...said].join(', ')}`;
  });
}

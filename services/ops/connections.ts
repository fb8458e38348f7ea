/** Shared by the operator's commands: clients of the servers, signals, printing. */
import { setTimeout as after } from 'node:timers/promises';
import { openKafka } from '../runtime/kafka/client.ts';
import type { Retrying } from '../runtime/kafka/ends.ts';
import { errorType, type Kafka, type KafkaSettings } from '../runtime/kafka/port.ts';
import { openReader, type Reader } from '../runtime/postgres/pool.ts';
import type { Config } from '../runtime/process/config.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openLog } from '../runtime/process/log.ts';
import { retrying } from '../runtime/process/retry.ts';
import type { POSTGRES_READER } from './config.ts';
import type { SharedArguments } from './usage.ts';

const STATEMENT_MS = 5_000;
const CLOSE_MS = 500;

/** Faults end a command with a message, so that nothing else is logged. */
export const LOG = openLog({ service: 'ops', level: 'fatal' });

export function kafkaOf(settings: KafkaSettings): Kafka {
  return openKafka(settings, 'ops', LOG);
}

/** Opens a reader, and closes it after `use`. */
export async function withReader<Result>(
  settings: Config<typeof POSTGRES_READER>,
  use: (reader: Reader) => Promise<Result>,
  statement_timeout_ms = STATEMENT_MS,
): Promise<Result> {
  const reader = openReader(
    {
      postgres_reader_url: settings.postgres_reader_url,
      statement_timeout_ms,
      postgres_connect_ms: settings.postgres_connect_ms,
      postgres_stale_ms: settings.postgres_stale_ms,
      connections_max: 1,
    },
    'ops',
    LOG,
  );
  try {
    return await use(reader);
  } finally {
    // a silent server does not even answer a farewell
    await Promise.race([reader.close(), after(CLOSE_MS, undefined, { ref: false })]);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Aborted by SIGINT or SIGTERM. A second signal ends the process at once. */
export function stopAtSignals(): AbortController {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of SIGNALS) process.once(signal, stop);
  stopping.signal.addEventListener(
    'abort',
    () => SIGNALS.forEach((signal) => process.off(signal, stop)),
    { once: true },
  );
  return stopping;
}

/** An answer before `jsonOf`. */
export type BeforeJson<Value> = Value extends string
  ? Value | bigint
  : Value extends object
    ? { readonly [Name in keyof Value]: BeforeJson<Value[Name]> }
    : Value;

/** JSON of one line, with large integers as text. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? part.toString() : part,
  );
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Towards the person alone: remarks and progress. With --json there are none. */
export function note(text: string, { json }: Partial<SharedArguments> = {}): void {
  if (json !== true) process.stderr.write(`${text}\n`);
}

/** How long a server may be away before this is logged. */
const SILENT_MS = 2_000;

/** Called with each fault, and with undefined on success; `what` was asked. */
export type OnFault = (fault: Fault | undefined, what: string) => void;

/**
 * Says that something has been away for long, and that it is back. `giveUp` is called before; what
 * it throws ends the retries.
 */
export function faultNotes(
  say: (text: string) => void = note,
  giveUp: OnFault = () => undefined,
): OnFault {
  const failing = new Map<string, { readonly since: number; noted: boolean }>();
  return (fault, what) => {
    giveUp(fault, what);
    const now = performance.now();
    const failure = failing.get(what) ?? { since: now, noted: false };
    if (fault === undefined) {
      if (failure.noted) say('going on');
      failing.delete(what);
      return;
    }
    failing.set(what, failure);
    if (failure.noted || now - failure.since <= SILENT_MS) return;
    say(`waiting, ${what}: ${fault.message}`);
    failure.noted = true;
  };
}

/** Rejects when `heard` is not called for `ms`: then a server is silent. */
export async function unlessSilent<Result>(
  ms: number,
  run: (heard: () => void) => Promise<Result>,
): Promise<Result> {
  const silent = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      silent.reject(
        new Fault(
          'timeout',
          `nothing was heard for ${ms / 1_000} s: look with ops status what is silent`,
          {
            retry: true,
          },
        ),
      ),
    ms,
  );
  try {
    return await Promise.race([run(() => void timer.refresh()), silent.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const GONE = 'look who has removed the topic, and restore it from a replica or a backup';

/** Errors of Kafka that come again until a person has acted, and what to do. */
const REMEDIES: ReadonlyMap<string | undefined, string> = new Map([
  ['UNKNOWN_TOPIC_ID', GONE],
  ['UNKNOWN_TOPIC_OR_PARTITION', GONE],
  ['TOPIC_AUTHORIZATION_FAILED', 'give this account the rights Describe and Read for the topic'],
]);

/** How long they come again: a broker that has just started does not know its topics yet. */
const SURE_MS = 10_000;
/** How long something may fail without a success in between. */
const VAIN_MS = 600_000;

/** Throws a fault that a person has to mend, and any that has lasted for `vain_ms`. */
export function patience(vain_ms = VAIN_MS): OnFault {
  const failing = new Map<string, number>();
  const refused = new Map<string, number>();
  return (fault, what) => {
    const remedy = REMEDIES.get(errorType(fault));
    if (remedy === undefined) refused.delete(what);
    if (fault === undefined) {
      failing.delete(what);
      return;
    }
    if (remedy !== undefined && msSince(refused, what) >= SURE_MS) {
      // the fault of a missing topic has a remedy of its own
      const text = fault.code === 'topic_missing' ? fault.message : `${fault.message}: ${remedy}`;
      throw new Fault(fault.code, text, { retry: false, cause: fault });
    }
    if (msSince(failing, what) >= vain_ms) throw fault;
  };
}

/** Since this was called first, or first again after it was deleted. */
function msSince(times: Map<string, number>, what: string): number {
  const now = performance.now();
  const since = times.get(what) ?? now;
  times.set(what, since);
  return now - since;
}

/** Retries what fails until the signal is aborted, or `giveUp` ends it. */
export function retryingWithNotes(
  signal: AbortSignal,
  say?: (text: string) => void,
  giveUp?: OnFault,
): Retrying {
  const tell = faultNotes(say, giveUp);
  return (what, attempt) =>
    retrying({ what, log: LOG, signal, onFault: (fault) => tell(fault, what) }, attempt);
}

/** A stream of records, kept short: the page shows the newest, and drops the others. */
import type { RecordLine, StreamLine } from '../../../../schemas/operations-api/answers.ts';
import { linesOf, ServiceError } from '../api/service.ts';
import { request } from './api.ts';
import { OPS } from './text.ts';

/** Records that are kept. */
export const KEPT = 200;
/** A stream sends something every five seconds. */
const SILENCE_MS = 15_000;
const AGAIN_MS = 2_000;

export interface Listener {
  readonly onRecords: (newest: readonly RecordLine[]) => void;
  /** why it waits; undefined: it goes on */
  readonly onWait: (why: string | undefined) => void;
  /** a filter that the server refuses: it is not tried again */
  readonly onRefused: (why: string) => void;
}

/** Reads until the signal is aborted, and begins again when the stream breaks. */
export async function followRecords(
  query: string,
  token: string,
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await readOnce(query, token, listener, signal);
      listener.onWait(OPS.records.ended);
    } catch (error) {
      if (signal.aborted) return;
      const isRefused = error instanceof ServiceError && error.status >= 400 && error.status < 500;
      const why = error instanceof Error ? error.message : String(error);
      if (isRefused) return listener.onRefused(why);
      listener.onWait(why);
    }
    await after(AGAIN_MS, signal);
  }
}

async function readOnce(
  query: string,
  token: string,
  { onRecords, onWait }: Listener,
  signal: AbortSignal,
): Promise<void> {
  const silent = new AbortController();
  const either = AbortSignal.any([signal, silent.signal]);
  let timer = setTimeout(() => silent.abort(), SILENCE_MS);
  try {
    const { body } = await request(`records?${query}`, token, { signal: either });
    onWait(undefined);
    let first = true;
    for await (const lines of linesOf(body)) {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE_MS);
      const found: RecordLine[] = [];
      for (const line of lines.slice(-KEPT)) {
        if (line === '') continue;
        const parsed: StreamLine = JSON.parse(line);
        if ('waiting' in parsed) onWait(parsed.waiting ?? undefined);
        else found.push(parsed);
      }
      if (found.length === 0 && !first) continue;
      first = false;
      onRecords(found);
    }
  } catch (error) {
    if (silent.signal.aborted) throw new Error(OPS.records.silent, { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function after(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Newest first: the arrived ones before those that were there. Each place once. */
export function withNewest(
  before: readonly RecordLine[],
  arrived: readonly RecordLine[],
): readonly RecordLine[] {
  const known = new Set(before.map(placeOf));
  const fresh = arrived.filter((record) => !known.has(placeOf(record)));
  return fresh.length === 0 ? before : [...fresh.toReversed(), ...before].slice(0, KEPT);
}

export function placeOf({ topic, partition, offset }: RecordLine): string {
  return `${topic}/${partition}@${offset}`;
}

/** `ops tail <topic>`: the records of a topic, decoded, for people and for scripts. */
import { stopAtSignals } from '../connections.ts';
import { exportTopic } from './export.ts';
import { watchReader, writeOut } from './output.ts';
import { readTopic, type TopicArguments } from './read-topic.ts';
import { recordJson, recordText } from './records.ts';

export interface TailArguments extends TopicArguments {
  readonly format: 'text' | 'json' | 'ndjson' | 'csv' | 'parquet' | undefined;
}

/** `write` takes text and resolves to whether more is wanted; standard output when not given. */
export async function tail(
  args: TailArguments,
  write: (text: string) => Promise<boolean> = writeOut,
): Promise<number> {
  const { topic, format } = args;
  if (format === 'csv' || format === 'parquet')
    return exportTopic({ ...args, 'no-follow': true, format, out: undefined });
  const isJson = args.json === true || format === 'json' || format === 'ndjson';
  const stopping = stopAtSignals();
  const { signal } = stopping;
  if (write === writeOut) watchReader(signal, () => stopping.abort());
  try {
    await readTopic(args, {
      write,
      signal,
      judged: false,
      render: (partition, record, shown) =>
        isJson
          ? `${recordJson(topic, partition, record, shown)}\n`
          : recordText(topic, partition, record, shown),
    });
  } finally {
    stopping.abort();
  }
  return 0;
}

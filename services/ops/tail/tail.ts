/** `ops tail <topic>`: the records of a topic, decoded, for people and for scripts. */
import { stopAtSignals, unlessSilent } from '../connections.ts';
import { exportTopic } from './export.ts';
import { watchReader, writeOut } from './output.ts';
import { readTopic, type TopicArguments } from './read-topic.ts';
import { recordJson, RecordSchemas, recordText } from './records.ts';
import { TEXT_OPTIONS } from './shown-types.ts';

const SILENT_MS = 20_000;

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
    const read = (onProgress?: () => void): Promise<unknown> =>
      readTopic(args, {
        write,
        signal,
        judged: false,
        render: (partition, record, shown) =>
          isJson
            ? `${recordJson(topic, partition, record, shown)}\n`
            : recordText(topic, partition, record, shown),
        ...(!isJson && { schemasOf: (settings) => new RecordSchemas(settings, TEXT_OPTIONS) }),
        ...(onProgress !== undefined && { onProgress }),
      });
    // a person who follows may wait for brokers as long as he likes
    await (args['no-follow'] === true ? unlessSilent(SILENT_MS, read) : read());
  } finally {
    stopping.abort();
  }
  return 0;
}

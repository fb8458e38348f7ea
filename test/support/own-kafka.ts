import { inject } from 'vitest';
import { freshDatabase } from './database.ts';
import { startStack, type Stack } from './stack.ts';

/**
 * A stack for services that read and write the topics under their declared names: Kafka and Redis
 * are its own, the registry is the run's, and so is the server of its database.
 */
export async function startOwnKafka(): Promise<Stack> {
  const run = inject('stack');
  const { writer_url: postgres_url, reader_url: postgres_reader_url } = await freshDatabase(run);
  const { registry_url } = run;
  return await startStack({ others: { registry_url, postgres_url, postgres_reader_url } });
}

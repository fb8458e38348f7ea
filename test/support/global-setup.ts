import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Addresses } from '../../infra/services/services.ts';
import { removeKeptLogs, settleLogs } from './kept-logs.ts';
import { pagesOfRun } from './pages.ts';
import { beginStack, stopAbandoned } from './stack.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's own stack of servers, shared by every test file: kill none of them. */
    stack: Addresses;
    /** A file that is there when the stack has started; it says why when it could not. */
    stack_started: string;
  }
}

/** Nobody kills it: a broker that is slow to report is alive, and may create topics. */
const KAFKA_SETTINGS = { 'broker.session.timeout.ms': '3600000' };

/**
 * One stack of servers for the whole run; it goes when the run ends, also by Ctrl-C. Tests that
 * need no servers run while it starts.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await stopAbandoned();
  settleLogs(false);
  removeKeptLogs();
  const { addresses, folder, started } = await beginStack({ kafka_settings: KAFKA_SETTINGS });
  const outcome = join(folder.logs, 'started');
  const settled = started.then(
    (stack) => {
      writeFileSync(outcome, '');
      return stack;
    },
    (error: unknown) => writeFileSync(outcome, String(error)),
  );
  // the end of the run reports it
  settled.catch(() => undefined);
  project.provide('stack', addresses);
  project.provide('stack_started', outcome);
  return async () => {
    await (await settled)?.stop();
    await stopAbandoned();
    rmSync(pagesOfRun(process.pid), { recursive: true, force: true });
    const hasFailed = project.vitest.state.getCountOfFailedTests() > 0;
    for (const logs of settleLogs(hasFailed))
      process.stdout.write(`logs of the servers: ${logs}\n`);
  };
}

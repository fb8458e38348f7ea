import type { TestProject } from 'vitest/node';
import type { Addresses } from '../../infra/services/services.ts';
import { settleLogs } from './kept-logs.ts';
import { removeAbandoned, startStack } from './stack.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's own stack of servers, shared by every test file: kill none of them. */
    stack: Addresses;
  }
}

/** One stack of servers for the whole run; it goes when the run ends, also by Ctrl-C. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned({ logs: true });
  const stack = await startStack();
  project.provide('stack', stack.addresses);
  return async () => {
    await stack.stop();
    await removeAbandoned({ logs: false });
    const hasFailed = project.vitest.state.getCountOfFailedTests() > 0;
    for (const logs of settleLogs(hasFailed))
      process.stdout.write(`logs of the servers: ${logs}\n`);
  };
}

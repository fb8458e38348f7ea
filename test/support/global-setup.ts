import type { TestProject } from 'vitest/node';
import type { Addresses } from '../../infra/services/services.ts';
import { removeAbandoned, startStack } from './stack.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's own stack of servers, shared by every test file: kill none of them. */
    stack: Addresses;
  }
}

/** One stack of servers for the whole run; it goes when the run ends, also by Ctrl-C. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned();
  const stack = await startStack();
  project.provide('stack', stack.addresses);
  return async () => {
    await stack.stop();
    await removeAbandoned();
  };
}

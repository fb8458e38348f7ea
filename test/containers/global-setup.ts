import type { TestProject } from 'vitest/node';
import { openComposed, type Place } from './composed.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's own system of containers, shared by every test file; or why there is none. */
    composed: Place | { readonly missing: string };
  }
}

/** One system for the whole run. What a run that was interrupted left goes with the next one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const opened = await openComposed();
  if ('missing' in opened) {
    project.provide('composed', opened);
    return () => Promise.resolve();
  }
  project.provide('composed', opened.place);
  return opened.close;
}

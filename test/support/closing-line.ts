import { writeSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts tests; a file or a suite that breaks outside its tests counts as one failed. */
export function countOutcomes(
  modules: readonly TestModule[],
  errors: readonly SerializedError[],
): Counts {
  const counts: Counts = { passed: 0, failed: errors.length, skipped: 0 };
  for (const module of modules) {
    if (module.errors().length > 0) counts.failed += 1;
    for (const suite of module.children.allSuites())
      if (suite.errors().length > 0) counts.failed += 1;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // an interrupted test counts as failed
      counts[state === 'pending' ? 'failed' : state] += 1;
    }
  }
  return counts;
}

/** `N passed, N failed`, and how many were skipped when any were. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/**
 * Prints where the logs of failed files are, and the closing line as the very last line of the run:
 * other programs read it.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const logs = modules.flatMap((module) =>
      (module.meta().logs ?? []).map((folder) => `logs of ${module.relativeModuleId}: ${folder}`),
    );
    const lines = [...logs, closingLine(countOutcomes(modules, errors))];
    process.once('exit', () => writeSync(1, `${lines.join('\n')}\n`));
  }
}

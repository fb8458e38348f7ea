import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each takes half a minute or more; at the end of a run, one worker would wait for it. */
const LONG =
  /\/test\/(faults\/|servers\/(infra\/local\/main|stack|services\/(rewritten-log|ops\/governance\/command|runtime\/kafka\/client|treasury\/(minting\/minting|reserve-statuses|whole-system)))\.test)/;

function about({ moduleId }: TestSpecification): number {
  return LONG.test(moduleId) ? Number.MAX_SAFE_INTEGER : statSync(moduleId).size;
}

/** The long runs before all others, and of these those with the most to do. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((one, other) => about(other) - about(one)));
  }
}

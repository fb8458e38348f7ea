import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each takes a minute or half of it. Their files are short, so that by size alone they would come last, and one worker would wait for the other. */
const LONG =
  /\/test\/(faults\/|infra\/local\/main\.test|support\/stack\.test|services\/runtime\/kafka\.test|services\/treasury\/whole-system)/;

function about({ moduleId }: TestSpecification): number {
  return LONG.test(moduleId) ? Number.MAX_SAFE_INTEGER : statSync(moduleId).size;
}

/** The long runs before all others, and of these those with the most to do. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((one, other) => about(other) - about(one)));
  }
}

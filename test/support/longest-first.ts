import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** At the end of a run, the other workers would wait for one of these. */
const LONG =
  /\/test\/(faults\/|model\/|servers\/(infra\/local\/(main|cluster\/servers)|services\/(rewritten-log|ops\/governance\/command|projector\/service|treasury\/(minting\/minting|reserve-statuses|whole-system)))\.test|services\/(ops\/audit\/mutations|runtime\/(http\/streamed-body|process\/main))\.test)/;

function about({ moduleId }: TestSpecification): number {
  return LONG.test(moduleId) ? Number.MAX_SAFE_INTEGER : statSync(moduleId).size;
}

/** A worker ends when the next file is of another project, and the next one loads all again. */
const PROJECTS = ['faults', 'servers', 'unit', 'house'];

function projectOf({ project }: TestSpecification): number {
  return PROJECTS.indexOf(project.name);
}

/** By project; the long runs before all others, and of these those with the most to do. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = files.toSorted(
      (one, other) => projectOf(one) - projectOf(other) || about(other) - about(one),
    );
    return Promise.resolve(sorted);
  }
}

/**
 * `npm run bench:publish -- [name...]`: copies results of benches from `.local/bench` to
 * `docs/measurements`, writes their tables into `docs/measurements.md` and `docs/limits.md`, and
 * their ratios into a picture.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { keep, PAGE, pageWith, PICTURE, publishedResults, unpublishable } from './measurements.ts';
import { LIMITS_PAGE, limitsPageWith } from './limits-page.ts';
import { ratiosPicture } from './ratios-picture.ts';
import { resultFile, type BenchResult } from './report.ts';

for (const name of process.argv.slice(2)) {
  const problem = publish(name);
  if (problem === undefined) continue;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), publishedResults()));
writeFileSync(LIMITS_PAGE, limitsPageWith(readFileSync(LIMITS_PAGE, 'utf8')));
writeFileSync(PICTURE, ratiosPicture(publishedResults()));
process.stdout.write(
  `${PAGE}, ${LIMITS_PAGE} and ${PICTURE} show the results of docs/measurements\n`,
);

/** The reason where it cannot be done. */
function publish(name: string): string | undefined {
  const file = resultFile(name);
  if (!existsSync(file)) return `there is no ${file}: run "npm run bench -- ${name}" first`;
  const result: BenchResult = JSON.parse(readFileSync(file, 'utf8'));
  const problem = unpublishable(result);
  if (problem !== undefined) return problem;
  keep(result);
  return undefined;
}

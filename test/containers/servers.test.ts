/** Server tests, whose servers are containers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { composed } from './composed.ts';

/** They ask, stop, kill and freeze each of the four servers. */
const TESTS = 'test/servers/services/runtime';

test('the tests of the clients of Kafka, the registry, Postgres and Redis pass with servers in containers', async (context) => {
  const { engine, folder } = composed(context);
  const report = join(folder, 'servers.json');
  const options = ['run', '--config', 'test/vitest.config.ts', '--project', 'servers'];
  const reporter = ['--reporter=json', `--outputFile=${report}`];
  const vitest = ['node_modules/vitest/vitest.mjs', ...options, ...reporter, TESTS];
  const { stderr } = await engine.end('infra/node.sh', vitest, { TEST_SERVERS: 'containers' });
  interface Report {
    readonly success: boolean;
    readonly numPassedTests: number;
    readonly numPendingTests: number;
    readonly testResults: readonly {
      /** why its tests did not run */
      readonly message: string;
      readonly assertionResults: readonly { readonly failureMessages: readonly string[] }[];
    }[];
  }
  const seen: Report = JSON.parse(readFileSync(report, 'utf8'));
  const failures = seen.testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages),
  ]);
  expect(failures, stderr).toEqual([]);
  expect(seen).toMatchObject({ success: true, numPendingTests: 0 });
  expect(seen.numPassedTests).toBeGreaterThan(100);
});

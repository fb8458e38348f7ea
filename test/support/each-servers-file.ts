/** Runs before each test file that needs servers: the run's stack may still be starting. */
import { existsSync, readFileSync } from 'node:fs';
import { inject } from 'vitest';
import { until } from './until.ts';

const outcome = inject('stack_started');
await until(() => existsSync(outcome), 'the servers of the run to start');
const problem = readFileSync(outcome, 'utf8');
if (problem !== '') throw new Error(`the servers of the run did not start: ${problem}`);

/** Runs before each test file that needs servers: the run's stack may still be starting. */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { inject } from 'vitest';

const outcome = inject('stack_started');
// they may have to be fetched first; the run ends when it cannot write the outcome
while (!existsSync(outcome)) await after(100);
const problem = readFileSync(outcome, 'utf8');
if (problem !== '') throw new Error(`the servers of the run did not start: ${problem}`);

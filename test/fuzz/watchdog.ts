/** The thread of a campaign that ends the process, and keeps the input, where one does not end. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { crashOf, RunningInput, type Watched } from './campaign.ts';

/** An input that runs longer hangs. */
const HANGS_MS = 20_000;
const STDERR = 2;

const { name, shared }: Watched = workerData;
const running = new RunningInput(shared);
let seen = 0;

function look(): void {
  const { count } = running;
  if (count > 0 && count === seen) {
    const text = `the input has run for ${HANGS_MS / 1_000} s`;
    // a stream of this thread would need a turn of the other
    writeSync(STDERR, crashOf(name, running.bytes, text));
    process.kill(process.pid, 'SIGKILL');
  }
  seen = count;
}

// limit under test
setInterval(look, HANGS_MS);

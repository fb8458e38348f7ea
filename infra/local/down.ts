import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { removeShelter } from './account.ts';
import { claim, type Claim } from './claim.ts';
import type { Folder } from './folder.ts';
import { stopLeftovers } from './leftovers.ts';
import { isAlive } from './process-identity.ts';
import { seconds, type Report } from './report.ts';
import { DONE } from './run.ts';
import { removeStackFile } from './stack-file.ts';

const PATIENCE_MS = 240_000;
const POLL_MS = 50;

/** Asks the process that runs this folder's stack to end, waits for it, and gives its claim to this one. */
async function takeOver(
  folder: Folder,
  report: Report,
): Promise<{ readonly holding: Extract<Claim, { held: true }>; readonly stopped: boolean }> {
  let stopped = false;
  for (;;) {
    const taken = claim(folder.claim_file);
    if (taken.held) return { holding: taken, stopped };
    const { holder } = taken;
    report.now(`stopping (process ${holder.pid})`);
    process.kill(holder.pid, 'SIGTERM');
    const deadline = performance.now() + PATIENCE_MS;
    while (isAlive(holder)) {
      if (performance.now() > deadline) process.kill(holder.pid, 'SIGKILL');
      await pause(POLL_MS);
    }
    stopped = true;
  }
}

/** Stops this folder's stack, or what a killed run left of it, and nothing else; with `wipe` its data goes too. Gives the exit code. */
export async function down(folder: Folder, wipe: boolean, report: Report): Promise<number> {
  const begun = performance.now();
  const { holding, stopped } = await takeOver(folder, report);
  try {
    const left = await stopLeftovers(folder);
    if (left.length > 0)
      report.line(`  ended what an interrupted run had left behind: ${left.join(', ')}`);
    removeStackFile(folder);
    report.line(
      stopped || left.length > 0
        ? `  stopped in ${seconds(performance.now() - begun)}`
        : '  nothing of this folder runs',
    );
    if (wipe) {
      removeShelter(folder);
      for (const path of [folder.data, folder.logs, `${folder.logs}.before`, folder.scratch])
        rmSync(path, { recursive: true, force: true });
      report.line(`  removed the data in ${folder.data}`);
    }
    return DONE;
  } finally {
    holding.release();
  }
}

import { fork, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claim } from './claim.ts';
import { Refusal, StackFault } from './fault.ts';
import type { BootOptions } from './instance.ts';
import { logTail } from './log-tail.ts';
import { seconds, type Report } from './report.ts';
import { DONE, runInstance } from './run.ts';
import { summaryOf } from './summary.ts';

const INTERRUPTED = 130;

/** What the supervisor tells the `up` that waits for it. */
type Message =
  | { readonly kind: 'line' | 'now' | 'refusal' | 'fault'; readonly text: string }
  | { readonly kind: 'ready' };

function isMessage(value: unknown): value is Message {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    (value.kind === 'ready' || ('text' in value && typeof value.text === 'string'))
  );
}

function tell(message: Message): void {
  if (process.connected) process.send?.(message);
}

/** The detached half of `up`: runs the stack, and tells its parent what happens until everything is ready. Gives the exit code. */
export async function supervise(options: BootOptions): Promise<number> {
  const stop = new AbortController();
  // The one who waited for it has gone before it was ready: nobody would know of it.
  const orphaned = (): void => stop.abort();
  process.on('disconnect', orphaned);
  const report: Report = {
    line(text) {
      options.report.line(text);
      tell({ kind: 'line', text });
    },
    now: (text) => tell({ kind: 'now', text }),
  };
  try {
    return await runInstance({ ...options, report }, stop, () => {
      process.off('disconnect', orphaned);
      tell({ kind: 'ready' });
    });
  } catch (error) {
    if (error instanceof StackFault)
      tell({ kind: error instanceof Refusal ? 'refusal' : 'fault', text: error.message });
    throw error;
  } finally {
    // A listener keeps the channel open, and an open channel keeps this process alive.
    process.off('disconnect', orphaned);
  }
}

/** The supervisor's end when it did not say why: all that there is, is what it printed. */
function silentEnd(log_file: string): StackFault {
  return new StackFault(
    ['the supervisor ended; it printed:', ...logTail(log_file).map((line) => `  | ${line}`)].join(
      '\n',
    ),
  );
}

/** Resolves to undefined when the supervisor says that everything is ready, or, once it has ended, to why it is not. */
async function watchBoot(
  supervisor: ChildProcess,
  log_file: string,
  report: Report,
): Promise<StackFault | undefined> {
  let fault: StackFault | undefined;
  return await new Promise((resolve) => {
    supervisor.on('message', (message: unknown) => {
      if (!isMessage(message)) return;
      if (message.kind === 'ready') resolve(undefined);
      else if (message.kind === 'refusal') fault = new Refusal(message.text);
      else if (message.kind === 'fault') fault = new StackFault(message.text);
      else report[message.kind](message.text);
    });
    supervisor.once('exit', () => {
      resolve(fault ?? silentEnd(log_file));
    });
  });
}

/** Starts the stack detached and gives 0 once everything is ready; otherwise the reason is shown and nothing is left running. */
export async function up({ folder, report, servers_only }: BootOptions): Promise<number> {
  const begun = performance.now();
  const free = claim(folder.claim_file);
  if (!free.held) {
    if (!existsSync(folder.stack_file))
      throw new Refusal(
        `the stack of ${folder.root} is just starting or stopping (process ${free.holder.pid})`,
      );
    report.line(`  runs already (process ${free.holder.pid}); npm run down stops it\n`);
    for (const line of summaryOf(folder)) report.line(line);
    return DONE;
  }
  free.release();
  mkdirSync(folder.root, { recursive: true });
  const log_file = join(folder.root, 'supervisor.log');
  const log = openSync(log_file, 'w');
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const args = ['supervise', ...(servers_only ? ['--servers-only'] : [])];
  const supervisor = fork(main, args, { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  let interrupted = false;
  const interrupt = (signal: NodeJS.Signals): void => {
    interrupted = true;
    supervisor.kill(signal);
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt).on('SIGHUP', interrupt);
  const fault = await watchBoot(supervisor, log_file, report);
  if (fault !== undefined) {
    if (interrupted) return INTERRUPTED;
    throw fault;
  }
  supervisor.disconnect();
  supervisor.unref();
  report.line('');
  for (const line of summaryOf(folder)) report.line(line);
  report.line(
    `\n  ready in ${seconds(performance.now() - begun)} · npm run down stops everything, the data stays\n`,
  );
  return DONE;
}

/** The commands start, up and down. Each returns its exit code. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerRequests, request, REQUEST_SIGNAL } from '../process/requests.ts';
import { Refusal } from '../process/run-program.ts';
import {
  endProcesses,
  livingProcesses,
  readPidFile,
  signalProcess,
  type ProcessIdentity,
} from '../process/pid-files.ts';
import { acquirePidFile } from '../process/pid-lock.ts';
import { boot, stopOrphans, type Booted, type BootOptions } from '../stack/boot.ts';
import { removeFolder, type Folder } from '../stack/folder.ts';
import { readSettings } from '../stack/settings.ts';
import { hasServices, stackSummary } from '../stack/stack-file.ts';
import { seconds, type Report } from './report.ts';

export const DONE = 0;
export const REFUSED = 1;
export const FAULT = 2;
const INTERRUPTED = 130;

/** A supervisor that was asked to stop is killed after this time. */
const STOP_MS = 240_000;
/** npm repeats the Ctrl-C of the terminal: only a later signal counts as the second. */
const SAME_SIGNAL_MS = 1_000;
/** How often `up` shows what its detached half has printed. */
const COPY_MS = 100;
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function printSummary({ folder, report }: BootOptions): void {
  report.line('');
  for (const line of stackSummary(folder)) report.line(line);
}

/** Runs the stack until a signal. The detached half of `up` reports to its parent when ready. */
export async function start(options: BootOptions): Promise<number> {
  const { folder, report, env } = options;
  const { APP_NETWORK, APP_CHAIN_ID } = readSettings(env);
  const isDetached = process.connected;
  const stop = new AbortController();
  report.line(`\n  CLT stack · ${APP_NETWORK} · chain ${APP_CHAIN_ID}\n`);
  const booted = Promise.withResolvers<Booted>();
  booted.promise.catch(() => undefined);
  const onRequest = (): void =>
    void booted.promise
      .then(({ act }) => answerRequests(folder.requests, act))
      .catch((error: unknown) => report.line(`  a request was not answered: ${String(error)}`));
  process.on(REQUEST_SIGNAL, onRequest);
  const holder = await acquirePidFile(folder.supervisor_file);
  if (holder !== undefined)
    throw new Refusal(
      `the stack of ${folder.root} is already running (process ${holder.pid}); npm run down stops it`,
    );
  // those to an earlier supervisor
  rmSync(folder.requests, { recursive: true, force: true });
  let interrupted_at: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    stop.abort();
    if (signal !== 'SIGINT') return;
    interrupted_at ??= performance.now();
    if (performance.now() - interrupted_at <= SAME_SIGNAL_MS) return;
    for (const identity of livingProcesses(folder.pids).values())
      signalProcess(identity, 'SIGKILL');
    report.line('  killed everything');
    process.exit(INTERRUPTED);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  // Nobody would know of a stack whose `up` was killed before it was ready.
  const onDisconnect = (): void => stop.abort();
  if (isDetached) process.on('disconnect', onDisconnect);
  try {
    const begun = performance.now();
    const stack = await boot(options, stop.signal);
    booted.resolve(stack);
    const { stop: stopStack, halted } = stack;
    printSummary(options);
    const after = seconds(performance.now() - begun);
    const outcome =
      halted.length === 0
        ? `ready in ${after}`
        : `started in ${after}, but halted: ${halted.join(', ')} (npx ops status says why)`;
    const hint = isDetached ? 'npm run down' : 'Ctrl-C';
    report.line(`\n  ${outcome} · ${hint} stops everything, the data stays\n`);
    process.off('disconnect', onDisconnect);
    if (process.connected) process.send?.('ready');
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    report.line('  stopping; a second Ctrl-C kills');
    const stopping = performance.now();
    await stopStack();
    const duration = seconds(performance.now() - stopping);
    report.line(`  stopped in ${duration}; the data stays in ${folder.data}`);
  } catch (error) {
    if (!stop.signal.aborted || !(error instanceof Error) || error.name !== 'AbortError')
      throw error;
    report.line('  stopped before it was ready');
  } finally {
    // A listener keeps the channel open, and an open channel keeps this process alive.
    process.off('disconnect', onDisconnect);
    rmSync(folder.supervisor_file, { force: true });
  }
  return DONE;
}

/** Has a running stack start what is down or halted, and says what came of it. */
async function startAgain(
  { folder, report, servers_only }: BootOptions,
  holder: ProcessIdentity,
): Promise<number> {
  const outcomes = await request(folder.requests, holder, { action: 'start' }, () =>
    report.now('starting what is down or halted'),
  );
  for (const [name, { text }] of Object.entries(outcomes)) report.line(`  ${name} ${text}`);
  if (Object.keys(outcomes).length === 0) report.line('  every part is ready');
  if (!servers_only && !hasServices(folder))
    report.line(
      '  it was started without services (--servers-only): npm run down, then npm run up starts them too',
    );
  const failed = Object.keys(outcomes).filter((name) => outcomes[name]?.is_done === false);
  if (failed.length === 0) return DONE;
  report.line(
    `  not ready: ${failed.join(', ')}; once the reason is mended npm run up, or npx ops start ${failed[0]}, starts it again`,
  );
  return FAULT;
}

/**
 * Starts the stack detached, and returns when it is ready; otherwise nothing is left running. A
 * stack that runs starts what is down or halted, and names what is not ready.
 */
export async function up(options: BootOptions): Promise<number> {
  const { folder, report, servers_only, cluster } = options;
  const holder = readPidFile(folder.supervisor_file);
  if (holder !== undefined) {
    if (!existsSync(folder.stack_file))
      throw new Refusal(
        `the stack is starting or stopping (process ${holder.pid}): try again soon`,
      );
    report.line(`  already running (process ${holder.pid}); npm run down stops it`);
    const code = await startAgain(options, holder);
    printSummary(options);
    return code;
  }
  mkdirSync(folder.root, { recursive: true });
  const log_file = join(folder.root, 'supervisor.log');
  const log = openSync(log_file, 'w');
  const main = fileURLToPath(new URL('../main.ts', import.meta.url));
  const flags = [servers_only ? '--servers-only' : '', cluster ? '--cluster' : ''];
  const child = fork(main, ['start', ...flags.filter((flag) => flag !== '')], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  let copied = 0;
  const copyLog = (): void => {
    const printed = readFileSync(log_file).subarray(copied);
    process.stdout.write(printed);
    copied += printed.length;
  };
  const copying = setInterval(copyLog, COPY_MS);
  const exited = once(child, 'exit');
  const isReady = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  clearInterval(copying);
  copyLog();
  if (isReady === undefined)
    return child.exitCode === DONE ? INTERRUPTED : (child.exitCode ?? FAULT);
  child.disconnect();
  child.unref();
  return DONE;
}

/** Stops this folder's stack, also the orphans of a killed supervisor; `wipe` removes the data. */
export async function down(folder: Folder, wipe: boolean, report: Report): Promise<number> {
  const begun = performance.now();
  let stopped = false;
  for (;;) {
    const holder = await acquirePidFile(folder.supervisor_file);
    if (holder === undefined) break;
    report.now(`stopping (process ${holder.pid})`);
    // not SIGINT: a second one kills everything
    await endProcesses([holder], 'SIGTERM', STOP_MS);
    stopped = true;
  }
  try {
    const orphans = await stopOrphans(folder);
    if (orphans.length > 0)
      report.line(`  stopped processes that a killed run had left: ${orphans.join(', ')}`);
    rmSync(folder.stack_file, { force: true });
    const duration = seconds(performance.now() - begun);
    const wasRunning = stopped || orphans.length > 0;
    report.line(wasRunning ? `  stopped in ${duration}` : '  nothing of this folder is running');
    if (wipe) {
      const { data, logs, scratch, shelter } = folder;
      for (const path of [data, logs, `${logs}.before`, scratch, shelter]) removeFolder(path);
      report.line(`  removed the data in ${folder.data}`);
    }
    return DONE;
  } finally {
    rmSync(folder.supervisor_file, { force: true });
  }
}

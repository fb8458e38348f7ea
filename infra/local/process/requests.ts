/**
 * Requests of a person to a supervisor that runs: a file for each in a folder, a signal, and the
 * answer in another file beside it.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlive, signalProcess, type ProcessIdentity } from './pid-files.ts';
import { codeOf, StackFault } from './run-program.ts';

const POLL_MS = 100;
/** Tells a supervisor that there is a request. */
export const REQUEST_SIGNAL: NodeJS.Signals = 'SIGUSR2';
const REQUEST = '.request';
const ANSWER = '.answer';

export interface Request {
  readonly action: 'start' | 'stop' | 'restart';
  /** undefined: each that has ended or waits for a person */
  readonly part?: string;
  /** with which the part is started from then on, besides those of before; may hold secrets */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Outcome {
  /** whether it is now as was asked */
  readonly is_done: boolean;
  /** the state, such as `ready`, or why the part is not as asked */
  readonly text: string;
}

/** By the name of the part, of those that were touched. */
export type Outcomes = Readonly<Record<string, Outcome>>;

/** Asks a supervisor, and resolves to its answer. `onWait` is called as long as it works. */
export async function request(
  folder: string,
  supervisor: ProcessIdentity,
  wanted: Request,
  onWait: () => void,
): Promise<Outcomes> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, randomUUID());
  write(`${file}${REQUEST}`, wanted);
  signalProcess(supervisor, REQUEST_SIGNAL);
  for (;;) {
    const answer = take(`${file}${ANSWER}`);
    if (answer !== undefined) {
      const outcomes: Outcomes = JSON.parse(answer);
      return outcomes;
    }
    if (!isAlive(supervisor)) {
      rmSync(`${file}${REQUEST}`, { force: true });
      throw new StackFault('the stack has stopped: npm run up starts it');
    }
    onWait();
    await pause(POLL_MS);
  }
}

/** Answers all requests that nobody has taken yet, all at once. */
export async function answerRequests(
  folder: string,
  act: (wanted: Request) => Promise<Outcomes>,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const files = readdirSync(folder).filter((file) => file.endsWith(REQUEST));
  await Promise.all(
    files.map(async (file) => {
      const text = take(join(folder, file));
      if (text === undefined) return;
      const wanted: Request = JSON.parse(text);
      write(join(folder, `${file.slice(0, -REQUEST.length)}${ANSWER}`), await act(wanted));
    }),
  );
}

/** In one step, so that nobody reads a half. */
function write(file: string, content: object): void {
  writeFileSync(`${file}.half`, JSON.stringify(content), { mode: 0o600 });
  renameSync(`${file}.half`, file);
}

/** Removes a file; undefined: there is none. */
function take(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    return text;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

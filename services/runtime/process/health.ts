/** The health of a process: named checks, run at each request of `/ready` and `/status`. */
import { Fault, messageOf } from './errors.ts';
import type { Logger } from './log.ts';
import { retrying } from './retry.ts';

const CHECK_MS = 2_000;

export const STARTING: HealthProblem = {
  status: 'starting',
  phase: 'opening',
  message: 'starting',
};

/** The body of `/status`. */
export interface ServiceStatus {
  /**
   * working: long work that ends by itself; waiting: a dependency is away; halted: needs a person
   */
  readonly status: 'starting' | 'working' | 'waiting' | 'ready' | 'halted';
  /** snake_case */
  readonly phase: string;
  /** `kafka`, `postgres`, `registry`, `redis`, `node`, `trongrid`, or `projection:<name>` */
  readonly waits_for: string | null;
  readonly eta_s: number | null;
  /** why it is not ready; of a process that is ready: what needs a person nevertheless */
  readonly message: string | null;
  /** what a person should know and need not act on at once */
  readonly notes: readonly string[];
}

/** Words of a process about itself besides its checks; shown to anyone. */
export interface Remarks {
  /** what needs a person, while the process is ready */
  readonly alarms: readonly string[];
  readonly notes: readonly string[];
}

export const NO_REMARKS: Remarks = { alarms: [], notes: [] };

/** Why a process is not ready. */
export interface HealthProblem {
  readonly status: Exclude<ServiceStatus['status'], 'ready'>;
  /** the process' phase when not given */
  readonly phase?: string | undefined;
  readonly waits_for?: string | undefined;
  readonly eta_s?: number | undefined;
  /** shown to anyone */
  readonly message: string;
}

export interface PartProblem extends HealthProblem {
  /** the name of the check that found it */
  readonly part: string;
}

export interface Check {
  readonly name: string;
  /** the projection whose tables the check reads: missing tables are awaited from its projector */
  readonly projection?: string;
  /** undefined when ready; a `Fault` counts as waiting for what failed */
  readonly check: () => Promise<HealthProblem | undefined> | HealthProblem | undefined;
}

/** The dependency that a fault of this code waits for. */
const DEPENDENCIES: readonly (readonly [code: RegExp, dependency: string])[] = [
  [/^(kafka|append_|log_busy|topic_)/, 'kafka'],
  [/^(schema|another)_registry/, 'registry'],
  [/^storage_/, 'postgres'],
  [/^(chain_|node_|another_chain)/, 'node'],
  [/^tron_/, 'trongrid'],
];

/** A fault that a person has to end: the process looks again and goes on by itself afterwards. */
const NEEDS_PERSON = /^(?:another_registry|log_damaged|unreadable_record)$/;

/** Whether a fault that is retried ends only once a person has acted. */
export function needsPerson({ code }: Fault): boolean {
  return NEEDS_PERSON.test(code);
}

/** A fault in words that name no host. */
export function waitingText({ code, shown }: Fault): string {
  return `waiting: ${code}${shown === undefined ? '' : `: ${shown}`}`;
}

/** A fault as a process' problem; `message` when it is to say more than the code. */
export function waitingFor(
  fault: Fault,
  options: {
    readonly message?: string;
    readonly phase?: string;
    readonly projection?: string | undefined;
  } = {},
): HealthProblem {
  const { message = waitingText(fault), phase, projection } = options;
  const waits_for =
    fault.code === 'storage_missing' && projection !== undefined
      ? `projection:${projection}`
      : DEPENDENCIES.find(([code]) => code.test(fault.code))?.[1];
  if (needsPerson(fault))
    return { status: 'halted', phase: 'halted', waits_for, message: `halted: ${fault.message}` };
  return { status: 'waiting', phase, waits_for, message };
}

interface ActivityOptions {
  readonly log: Logger;
  /** ends retries */
  readonly signal: AbortSignal;
  /** how `/ready` words a fault that is being retried; its code when not given */
  readonly describe?: (fault: Fault) => string;
  /** the longest time between two calls of `heard`; unlimited when not given */
  readonly silence_ms?: number;
  readonly silent?: (ms: number) => HealthProblem;
}

/** The activity of a process without requests: phase, retried faults, whether it has halted. */
export class Activity {
  readonly #options: ActivityOptions;
  /** a text: the phase of a process that is ready */
  #phase: HealthProblem | string = STARTING;
  /** the failed attempts that are being retried, by name */
  readonly #faults = new Map<string, Fault>();
  #heardAt = performance.now();
  #halted: HealthProblem | undefined;

  constructor(options: ActivityOptions) {
    this.#options = options;
  }

  /**
   * In a phase given by name the process is ready, in one given as a problem it is not. Clears
   * faults: an attempt of many steps has recovered once it enters a phase.
   */
  enter(phase: HealthProblem | string): void {
    this.#phase = phase;
    this.#faults.clear();
  }

  /** Halts until a person intervenes; the first reason stays. */
  halt(reason: string): void {
    this.#halted ??= { status: 'halted', phase: 'halted', message: `halted: ${reason}` };
  }

  /** Notes an answer of the server that the process follows. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** `retrying`, and until the attempt succeeds its fault is the process' problem. */
  retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { log, signal } = this.#options;
    const onFault = (fault: Fault | undefined): void => {
      if (fault === undefined) this.#faults.delete(what);
      else this.#faults.set(what, fault);
    };
    return retrying({ what, log, signal, onFault }, attempt);
  }

  /** Whether nothing goes on before a person has acted. */
  get is_halted(): boolean {
    return this.#halted !== undefined || (this.#fault !== undefined && needsPerson(this.#fault));
  }

  /** The fault that needs a person, else the oldest. */
  get #fault(): Fault | undefined {
    const faults = [...this.#faults.values()];
    return faults.find(needsPerson) ?? faults[0];
  }

  get phase(): string {
    return typeof this.#phase === 'string' ? this.#phase : (this.#phase.phase ?? 'serving');
  }

  get problem(): HealthProblem | undefined {
    if (this.#halted !== undefined) return this.#halted;
    const { describe = waitingText, silence_ms: silenceMs } = this.#options;
    const fault = this.#fault;
    if (fault !== undefined)
      return waitingFor(fault, { message: describe(fault), phase: this.phase });
    // silence counts once the process works: opening may take longer
    if (typeof this.#phase !== 'string') return this.#phase;
    const ms = Math.round(performance.now() - this.#heardAt);
    return silenceMs !== undefined && ms > silenceMs ? this.#options.silent?.(ms) : undefined;
  }
}

const SEVERITY: readonly HealthProblem['status'][] = ['halted', 'waiting', 'working', 'starting'];

export class Health {
  readonly #checks: readonly Check[];
  readonly #phase: () => string;
  readonly #log: Logger;
  readonly #remarks: () => Remarks;
  #logged = '';

  /** `phase`: what the process does while no check says otherwise. */
  constructor(
    checks: readonly Check[],
    phase: () => string,
    log: Logger,
    remarks: () => Remarks = () => NO_REMARKS,
  ) {
    this.#checks = checks;
    this.#phase = phase;
    this.#log = log;
    this.#remarks = remarks;
  }

  /** Runs all checks at once; the problems of those that fail, each with the name of its check. */
  problems(): Promise<readonly PartProblem[]> {
    return this.#run();
  }

  /** The gravest problem. */
  async status(): Promise<ServiceStatus> {
    const problems = await this.#run();
    const status = SEVERITY.find((one) => problems.some((problem) => problem.status === one));
    const problem = problems.find((one) => one.status === status);
    const { alarms, notes } = this.#remarks();
    const alarm = alarms.length === 0 ? null : alarms.join('; ');
    return {
      status: status ?? 'ready',
      phase: problem?.phase ?? this.#phase(),
      waits_for: problem?.waits_for ?? null,
      eta_s: problem?.eta_s ?? null,
      message: problem?.message ?? alarm,
      notes,
    };
  }

  /** Changes are logged. */
  async #run(): Promise<readonly PartProblem[]> {
    const results = await Promise.all(this.#checks.map(run));
    const problems = results.flatMap(({ problem }, at) =>
      problem === undefined ? [] : [{ ...problem, part: this.#checks[at]?.name ?? '' }],
    );
    const text = problems.map(({ message }) => message).join('; ');
    // digits are ignored: a counter in a message changes at every request
    const pattern = text.replaceAll(/[0-9]+/g, '0');
    if (pattern === this.#logged) return problems;
    this.#logged = pattern;
    if (problems.length === 0) this.#log.info('ready again');
    else
      this.#log.warn({ causes: results.flatMap(({ cause }) => cause ?? []) }, `not ready: ${text}`);
    return problems;
  }
}

interface CheckResult {
  readonly problem?: HealthProblem;
  /** the message of a fault: it may name hosts, so it goes to the log only */
  readonly cause?: string;
}

async function run({ name, projection, check }: Check): Promise<CheckResult> {
  const limit = Promise.withResolvers<HealthProblem>();
  const waits_for = projection === undefined ? undefined : 'postgres';
  const message = `no answer within ${CHECK_MS} ms`;
  const timer = setTimeout(
    () => limit.resolve({ status: 'waiting', waits_for, message }),
    CHECK_MS,
  );
  try {
    const problem = await Promise.race([check(), limit.promise]);
    return problem === undefined
      ? {}
      : { problem: { ...problem, message: `${name}: ${problem.message}` } };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const problem = waitingFor(error, { message: `${name}: ${error.code}`, projection });
    return { problem, cause: messageOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Failures are of three kinds. A refusal is a value: the caller's request is wrong. A fault is an
 * error outside this process. A bug is a failed assertion.
 */

/** `refused` is snake_case; `message` says what to do instead and never repeats the input. */
export interface Refusal<Reason extends string = string> {
  readonly refused: Reason;
  readonly message: string;
}

/** A server, disk, network or log outside this process failed. */
export class Fault extends Error {
  override readonly name = 'Fault';
  /** snake_case, stable */
  readonly code: string;
  /** whether the same attempt can succeed later without a person */
  readonly retry: boolean;
  /** the part of the message that anyone may see: it names no host */
  readonly shown: string | undefined;

  constructor(
    code: string,
    message: string,
    options: ErrorOptions & { readonly retry: boolean; readonly shown?: string },
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retry = options.retry;
    this.shown = options.shown;
  }
}

/** The code is wrong. */
export class Bug extends Error {
  override readonly name = 'Bug';
}

/** Throws a `Bug` when the condition is false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}

/** A property that a driver adds to an error without declaring it. */
export function propertyOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined;
}

/** The message of a thrown value; of Node's AggregateError without one, those of its parts. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === '' && error instanceof AggregateError)
    return error.errors.map(messageOf).join('; ');
  return error.message;
}

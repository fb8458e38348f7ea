/**
 * Failures are of three kinds and no fourth. A refusal is a value: the caller asked for what cannot be had. A fault is an error of the world around us,
 * with a code and whether trying again can help. A bug is an assertion.
 */

/** What the caller asked for is refused. `refused` is a snake_case reason, `message` says what to do instead and never repeats the input. */
export interface Refusal<Reason extends string = string> {
  readonly refused: Reason;
  readonly message: string;
}

/** Something outside did not work: a server, a disk, a network, a log. */
export class Fault extends Error {
  override readonly name = 'Fault';
  /** snake_case, stable */
  readonly code: string;
  /** whether the same attempt can succeed later without anybody doing anything */
  readonly retry: boolean;

  constructor(
    code: string,
    message: string,
    options: { readonly retry: boolean; readonly cause?: unknown },
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retry = options.retry;
  }
}

/** The code is wrong: what was held to be impossible happened. */
export class Bug extends Error {
  override readonly name = 'Bug';
}

/** Holds what must be true; throws a `Bug` when it is not. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}

/** A property of an error that its class does not declare, as drivers add them. */
export function propertyOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined;
}

/** The message of anything that was thrown. An AggregateError without one (Node's, of several addresses) tells those of its parts. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === '' && error instanceof AggregateError)
    return error.errors.map(messageOf).join('; ');
  return error.message;
}

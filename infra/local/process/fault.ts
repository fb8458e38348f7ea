/** A fault of the stack with a message for a person: what happened, and what to do about it. */
export class StackFault extends Error {
  override readonly name: string = 'StackFault';
}

/** A command that cannot run: bad usage, bad settings, a stack that is already running. */
export class Refusal extends StackFault {}

/** The `code` of a system error (`ENOENT`, ...), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code;
  return undefined;
}

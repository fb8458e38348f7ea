/** A fault of the stack with a message for the person at the terminal: what happened and what to do. */
export class StackFault extends Error {
  override readonly name: string = 'StackFault';
}

/** What was asked cannot be done as asked: bad usage, bad settings, a stack that runs already. */
export class Refusal extends StackFault {}

/** The `code` of a system error (`ENOENT`, ...), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code;
  return undefined;
}

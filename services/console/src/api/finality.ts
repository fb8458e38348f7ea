/**
 * Whether a block may still be replaced. An answer is judged by the height that was final before it
 * was asked for: by a later height, a block that has been replaced since would count as final.
 */
import type { Status } from '../../../../schemas/explorer-api/network.ts';

let known: number | undefined;

/** Takes the height from an answer to `/api/v1/status`. */
export function learnFinality({ indexed }: Pick<Status, 'indexed'>): void {
  known = indexed?.finalized_height ?? undefined;
}

export interface Judged {
  /** blocks up to this height are final; undefined: not known */
  readonly final_height: number | undefined;
}

/** The answer of a call that begins now. */
export async function judged<Answer extends object>(
  call: () => Promise<Answer>,
): Promise<Answer & Judged> {
  const final_height = known;
  return Object.assign(await call(), { final_height });
}

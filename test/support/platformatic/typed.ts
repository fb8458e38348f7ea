/** Connections and errors of the client, for all verbs. */
import { GenericError, MultipleErrors, type Base } from '@platformatic/kafka';

/** Sends the connections of a client where the tests want them. */
export type Through = <Client extends Base>(client: Client) => Client;

/** Names the protocol's error as the port does; the client has a list of one for each attempt. */
export async function typed<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    const type = typeOf(cause);
    const message = cause instanceof Error ? cause.message : String(cause);
    throw Object.assign(new Error(message, { cause }), type === undefined ? {} : { type });
  }
}

function typeOf(error: unknown): string | undefined {
  if (error instanceof MultipleErrors)
    return error.errors.map(typeOf).findLast((type) => type !== undefined);
  if (!(error instanceof GenericError)) return undefined;
  // the client forgets which error it was
  if (error.message.startsWith('Unknown topic ')) return 'UNKNOWN_TOPIC_OR_PARTITION';
  const apiId: unknown = error['apiId'];
  return typeof apiId === 'string' ? apiId : undefined;
}

/** Statements that one client sends before those before them are answered; they run in order. */
import type { ClientBase } from 'pg';

/**
 * Whether this client sends ahead. Call it while no statement is in flight, or before the client is
 * given up: node-postgres waits for the answers of a pipeline before it closes the connection, and
 * a frozen server gives none.
 */
export function setPipeline(client: ClientBase, isOn: boolean): void {
  // node-postgres sets it for a whole pool, and reads it at each statement
  Reflect.set(client, 'pipeline', isOn);
}

/**
 * The results of statements that were sent in this order, once all are answered. Throws the error
 * of the first that failed: Postgres refuses those behind it for that alone.
 */
export async function inOrder<const Sent extends readonly Promise<unknown>[]>(
  sent: Sent,
): Promise<{ -readonly [At in keyof Sent]: Awaited<Sent[At]> }> {
  const outcomes = await Promise.allSettled(sent);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return await Promise.all(sent);
}

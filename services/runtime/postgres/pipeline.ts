import type { ClientBase } from 'pg';

/**
 * Whether this client sends a statement before the ones before it are answered; they run in order.
 * Call it while none is in flight, or before the client is given up: node-postgres waits for the
 * answers of a pipeline before it closes the connection, and a frozen server gives none.
 */
export function setPipeline(client: ClientBase, isOn: boolean): void {
  // node-postgres sets it for a whole pool, and reads it at each statement
  Reflect.set(client, 'pipeline', isOn);
}

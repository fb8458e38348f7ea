/** Results as JSON text. */
import type { ExecutionResult } from 'graphql';

/** After so many elements of a list the event loop has a turn. */
const ELEMENTS_PER_TURN = 250;

type Result = Pick<ExecutionResult, 'data'>;

/** The text that `JSON.stringify` gives; lists directly under `data` become text in pieces. */
export async function textOfResult(result: Result): Promise<string> {
  const lists = Object.entries(result.data ?? {}).filter(([, value]) => isLong(value));
  if (lists.length === 0) return JSON.stringify(result);
  const fields: string[] = [];
  for (const [name, value] of Object.entries(result)) {
    const text = name === 'data' ? await textOfData(result) : JSON.stringify(value);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

async function textOfData({ data }: Result): Promise<string> {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(data ?? {})) {
    const text = isLong(value) ? await textOfList(value) : JSON.stringify(value);
    fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

async function textOfList(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < list.length; from += ELEMENTS_PER_TURN) {
    pieces.push(JSON.stringify(list.slice(from, from + ELEMENTS_PER_TURN)).slice(1, -1));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return `[${pieces.join(',')}]`;
}

function isLong(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > ELEMENTS_PER_TURN;
}

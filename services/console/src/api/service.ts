/** Calls of the services that the pages ask. */

/** A refusal or a fault of a service, or no answer of it. */
export class ServiceError extends Error {
  /** of HTTP; 0: no answer */
  readonly status: number;
  /** of a refusal; undefined: the service names none */
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Whether the service answered that there is no such thing. */
export function isMissing(error: Error | null): boolean {
  return error instanceof ServiceError && (error.status === 404 || error.status === 400);
}

/** A service that has not begun to answer by then counts as away. */
const ANSWER_MS = 10_000;

/** Throws a `ServiceError`, and an aborted call as it is. */
export async function send(
  url: string,
  { signal: given, ...init }: RequestInit,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  const signal = given ? AbortSignal.any([given, late.signal]) : late.signal;
  let response;
  try {
    response = await fetch(url, { ...init, signal });
  } catch (error) {
    if (given?.aborted === true) throw error;
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
  if (response.ok) return response;
  const text = await response.text();
  throw refusalOf(response.status, text);
}

function refusalOf(status: number, text: string): ServiceError {
  try {
    const { code, message, error }: Readonly<Record<string, string | undefined>> = JSON.parse(text);
    return new ServiceError(status, message ?? error ?? text, code);
  } catch {
    // a 401 of deposits has no body, and a proxy has its own page
    return new ServiceError(status, text);
  }
}

/** Lines without their ends, as they arrive; the reading ends with the loop. */
export async function* linesOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<readonly string[]> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let begun = '';
  try {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      // a long line comes in many parts
      begun += first;
      const last = others.pop();
      yield last === undefined ? [] : [begun, ...others];
      if (last !== undefined) begun = last;
    }
  } finally {
    await reader?.cancel();
  }
}

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

/** Throws a `ServiceError`, and an aborted call as it is. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  let response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
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

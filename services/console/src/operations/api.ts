/** The interface of `ops console`. The token is in this page's memory alone: a reload ends it. */
import { send } from '../api/service.ts';

interface Call {
  readonly signal?: AbortSignal;
  readonly body?: object;
}

/** Throws a `ServiceError`. */
export async function ask<Answer>(
  path: string,
  token: string | undefined,
  call: Call = {},
): Promise<Answer> {
  const response = await request(path, token, call);
  const answer: Answer = await response.json();
  return answer;
}

/** Throws a `ServiceError`. */
export function request(
  path: string,
  token: string | undefined,
  { signal, body }: Call,
): Promise<Response> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return send(`/api/v1/${path}`, { headers, ...sent, ...(signal && { signal }) });
}

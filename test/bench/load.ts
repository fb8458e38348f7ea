/** A closed loop of requests to one server. */
import { KeepAlive } from './keep-alive.ts';

export interface Load {
  /** of the server, without a path */
  readonly url: string;
  readonly path: () => string;
  /** a document of GraphQL in JSON, sent by POST; without it the request is a GET */
  readonly body?: () => string;
  /** kept alive, each with one request in flight */
  readonly connections: number;
  readonly seconds: number;
  /** of a GET, as `KeepAlive` takes them */
  readonly headers?: string;
  /** that every answer must have; default: 200 */
  readonly status?: number;
}

export interface Loaded {
  readonly requests: number;
  readonly seconds: number;
  /** of all responses, with their heads */
  readonly bytes: number;
}

/** An answer of GraphQL without errors begins so. */
const DATA = Buffer.from('{"data":');

/**
 * Every connection asks again as soon as it is answered. Throws at another status, and at errors of
 * GraphQL.
 */
export async function load({
  url,
  path,
  body: bodyOf,
  connections,
  seconds,
  headers = '',
  status: expected = 200,
}: Load): Promise<Loaded> {
  const open = await Promise.all(Array.from({ length: connections }, () => KeepAlive.open(url)));
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  let requests = 0;
  let all = 0;
  try {
    await Promise.all(
      open.map(async (connection) => {
        while (performance.now() < end) {
          const asked = path();
          const { status, body, bytes } = await (bodyOf === undefined
            ? connection.get(asked, headers)
            : connection.post(asked, bodyOf()));
          const isAnswer = bodyOf === undefined || body.subarray(0, DATA.length).equals(DATA);
          if (status !== expected || !isAnswer)
            throw new Error(`${url}${asked} answered ${status}: ${body.toString()}`);
          requests++;
          all += bytes;
        }
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
  return { requests, seconds: (performance.now() - begun) / 1_000, bytes: all };
}

/** A closed loop of requests to one server. */
import { KeepAlive } from './keep-alive.ts';

export interface Asking {
  /** of the server, without a path */
  readonly url: string;
  readonly path: () => string;
  /** a document of GraphQL in JSON, sent by POST; without it the request is a GET */
  readonly body?: () => string;
  /** kept alive, each with one request in flight */
  readonly connections: number;
  readonly seconds: number;
}

export interface Answered {
  readonly requests: number;
  readonly seconds: number;
}

/** An answer of GraphQL without errors begins so. */
const DATA = Buffer.from('{"data":');

/**
 * Every connection asks again as soon as it is answered. Throws at another status than 200, and at
 * errors of GraphQL.
 */
export async function askInALoop({
  url,
  path,
  body: bodyOf,
  connections,
  seconds,
}: Asking): Promise<Answered> {
  const open = await Promise.all(Array.from({ length: connections }, () => KeepAlive.open(url)));
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  let requests = 0;
  try {
    await Promise.all(
      open.map(async (connection) => {
        while (performance.now() < end) {
          const asked = path();
          const { status, body } = await (bodyOf === undefined
            ? connection.get(asked)
            : connection.post(asked, bodyOf()));
          const isAnswer = bodyOf === undefined || body.subarray(0, DATA.length).equals(DATA);
          if (status !== 200 || !isAnswer)
            throw new Error(`${url}${asked} answered ${status}: ${body.toString()}`);
          requests++;
        }
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
  return { requests, seconds: (performance.now() - begun) / 1_000 };
}

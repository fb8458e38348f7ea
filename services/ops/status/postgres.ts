/** `ops status`: the hosts of Postgres that may be written to. */
import type { Hosts, Slot } from '../../runtime/postgres/hosts.ts';

export interface Primary {
  /** host:port */
  readonly name: string;
  /** 8 hex digits; the higher one was promoted later */
  readonly timeline: string;
  readonly slots: readonly Slot[];
}

/** The servers that say they may be written to, each once; asked for at most `answer_ms`. */
export async function readPrimaries(hosts: Hosts, answer_ms: number): Promise<readonly Primary[]> {
  const servers = new Map<string, Primary>();
  for (const [name, { timeline, started_at, slots }] of await hosts.look(answer_ms))
    if (timeline !== undefined) servers.set(started_at, { name, timeline, slots });
  return [...servers.values()];
}

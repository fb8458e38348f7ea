/** `ops status`: whether one host of Postgres alone may be written to. */
import type { Hosts } from '../../runtime/postgres/hosts.ts';

const ANSWER_MS = 4_000;

/** A line where several hosts say that they may be written to. */
export async function primariesFaults(hosts: Hosts): Promise<readonly string[]> {
  const seen = await hosts.look(ANSWER_MS);
  if (hosts.primaries < 2) return [];
  const primaries = [...seen]
    .flatMap(([name, { timeline }]) => (timeline === undefined ? [] : [{ name, timeline }]))
    .map(({ name, timeline }) => `${name} (timeline ${timeline})`);
  return [
    `postgres: ${primaries.join(' and ')} may be written to: stop those of a lower timeline, or make them replicas of the newest primary`,
  ];
}

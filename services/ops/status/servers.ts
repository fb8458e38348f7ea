/** `ops status`: brokers as the cluster of Kafka lists them, hosts of Postgres by their answers. */
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import type { Hosts, Slot } from '../../runtime/postgres/hosts.ts';
import { coloured, table } from '../text.ts';

export interface Server {
  readonly kind: 'kafka' | 'postgres';
  /** of Postgres host:port */
  readonly name: string;
  /** away: it does not answer, or the cluster does not have it now */
  readonly state: 'broker' | 'primary' | 'replica' | 'away';
  /** of a primary of Postgres, 8 hex digits; the higher one was promoted later */
  readonly timeline: string | null;
  /** of Postgres, Unix seconds; null: not known */
  readonly started_at: number | null;
  /** of a primary of Postgres */
  readonly slots: readonly Slot[];
}

/** The hosts of the connection string, each asked for at most `answer_ms`. */
export async function readHosts(hosts: Hosts, answer_ms: number): Promise<readonly Server[]> {
  const seen = await hosts.look(answer_ms);
  return hosts.names.map((name) => {
    const answer = seen.get(name);
    const state =
      answer === undefined ? 'away' : answer.timeline === undefined ? 'replica' : 'primary';
    return {
      kind: 'postgres',
      name,
      state,
      timeline: answer?.timeline ?? null,
      started_at: answer === undefined ? null : Number(answer.started_at),
      slots: answer?.slots ?? [],
    };
  });
}

/** The servers that may be written to, each once, whatever names lead to it. */
export function primariesOf(servers: readonly Server[]): readonly Server[] {
  const primaries = servers.filter(({ state }) => state === 'primary');
  return [...new Map(primaries.map((each) => [each.started_at, each])).values()];
}

/** The brokers that the cluster has, and those that only have replicas. */
export async function readBrokers(kafka: Kafka): Promise<readonly Server[]> {
  const brokers = await withAdmin(kafka, (admin) => admin.brokers());
  return [...brokers]
    .toSorted(([one], [other]) => one - other)
    .map(([id, address]) => ({
      kind: 'kafka',
      name: address === undefined ? `broker ${id}` : `broker ${id} at ${address}`,
      state: address === undefined ? 'away' : 'broker',
      timeline: null,
      started_at: null,
      slots: [],
    }));
}

/** Names of the brokers that are away. */
export function awayOf(servers: readonly Server[]): readonly string[] {
  return servers
    .filter(({ kind, state }) => kind === 'kafka' && state === 'away')
    .map(({ name }) => name);
}

/** Brokers that are away, else why none is known and replicas lack nevertheless. */
export function brokersText(servers: readonly Server[]): string {
  const away = awayOf(servers);
  if (away.length === 0)
    return 'a broker is away or frozen, or catches up since its start; on this machine npm run up -- --cluster names it';
  const parts = away.map((name) => name.replace(/^broker /, 'kafka-'));
  return `${away.join(' and ')}: away or frozen: on this machine npx ops restart ${parts.join(', then ')}`;
}

/** For people: a row a server. */
export function serversTable(servers: readonly Server[], now: number): string {
  const rows = servers.map(({ kind, name, state, timeline, started_at }) => [
    kind,
    name,
    coloured(state === 'away' ? 'red' : 'green', state),
    [timeline === null ? '' : `timeline ${timeline}`, startedText(started_at ?? 0, now)]
      .filter((text) => text !== '')
      .join(', '),
  ]);
  return table(['SERVER', '', 'STATE', ''], rows);
}

/** A start that may explain what a person sees. */
const RECENT_S = 600;

/** Empty unless it was within ten minutes. Both times are Unix seconds. */
export function startedText(startedAt: number, now: number): string {
  if (now - startedAt > RECENT_S) return '';
  return `started ${Math.max(0, Math.round(now - startedAt))} s ago`;
}

import type { IncomingMessage } from 'node:http';
import { clientOf } from '../../runtime/http/rate-limit.ts';

/** An address has no more characters. */
const CHARACTERS_MAX = 45;

/** Who asks, as limits tell callers apart, for requests that Express has not seen; as there so many proxies in front are believed. */
export function clientOfRequest({ headers, socket }: IncomingMessage, hops: number): string {
  const own = socket.remoteAddress ?? '';
  if (hops === 0) return clientOf(own);
  const forwarded = headers['x-forwarded-for'];
  const said = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? ''))
    .split(',')
    .map((each) => each.trim());
  const addresses = [own, ...said.filter((each) => each !== '').toReversed()];
  const address = addresses[Math.min(hops, addresses.length - 1)] ?? '';
  return clientOf(address.length <= CHARACTERS_MAX ? address : own);
}

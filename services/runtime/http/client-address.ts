/** Client addresses, the keys of rate limits. */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';

/** Longest text of an address. A longer `ip` is forged and must not become a key. */
const CHARACTERS_MAX = 45;

interface Addressed {
  /** as trusted proxies tell it */
  readonly ip?: string | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The client of a request: its address, or the network that `networkOf` gives. */
export function clientOf({ ip, socket }: Addressed): string {
  const isKnown = ip !== undefined && ip.length <= CHARACTERS_MAX;
  return networkOf(isKnown ? ip : (socket.remoteAddress ?? ''));
}

/** The address that the outermost of `hops` proxies saw. Each proxy appends one address. */
export function forwardedFor(
  request: Pick<IncomingMessage, 'headers'> & Pick<Addressed, 'socket'>,
  hops: number,
): string | undefined {
  if (hops === 0) return request.socket.remoteAddress;
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is read
  return proxyAddr(request as IncomingMessage, (_, proxies) => proxies < hops);
}

/**
 * The networks whose limits a client counts in, by how many times the limit of one client each has:
 * an IPv6 client also in its /56 and its /48, which providers give to one customer.
 */
export function networksAround(
  client: string,
): readonly (readonly [network: string, times: number])[] {
  const groups = client.split(':');
  if (groups.length !== 4) return [[client, 1]];
  const [first, second, third, last = ''] = groups;
  const site = `${first}:${second}:${third}`;
  return [
    [client, 1],
    [`${site}:${last.padStart(4, '0').slice(0, 2)}/56`, 4],
    [`${site}/48`, 16],
  ];
}

/** An IPv4 address itself; of an IPv6 address the /64 network, which belongs to one customer. */
export function networkOf(address: string): string {
  // most are IPv4 addresses, and isIPv6 takes long to refuse one
  if (!address.includes(':') || !isIPv6(address)) return address;
  if (address.toLowerCase().startsWith('::ffff:') && address.includes('.')) return address.slice(7);
  const [before = '', after] = (address.split('%')[0] ?? '').split('::');
  const front = before === '' ? [] : before.split(':');
  const back = after === undefined || after === '' ? [] : after.split(':');
  const gap = after === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

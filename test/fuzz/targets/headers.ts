import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import {
  clientOf,
  forwardedFor,
  networkOf,
  networksAround,
} from '../../../services/runtime/http/client-address.ts';
import { preferredCoding } from '../../../services/runtime/http/content-coding.ts';
import { bearerToken } from '../../../services/runtime/http/token.ts';

export const about = 'headers: accept-encoding, x-forwarded-for, authorization';

export const seeds = [
  'gzip;q=0.5, br;q=1.0, *;q=0, identity',
  'GZIP , zstd;q=0.001',
  '2001:db8::1, 192.0.2.1',
  '::ffff:192.0.2.1',
  'fe80::1%eth0',
  '1:2:3:4:5:6:7:8',
  'Bearer a.b.c',
];
export const words = [';q=', '1.000', 'identity', '::', '%', ':0000', '::ffff:', ', '];

/** The parts of a request that are read. */
function requestOf(text: string): Pick<IncomingMessage, 'headers' | 'socket'> {
  const request = { headers: { 'x-forwarded-for': text }, socket: { remoteAddress: '192.0.2.9' } };
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is read
  return request as unknown as IncomingMessage;
}

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString('latin1');
  assert.ok(['br', 'zstd', 'gzip', undefined].includes(preferredCoding(text)));
  const token = bearerToken(text);
  if (token !== undefined) assert.doesNotMatch(token, /\s/);
  const network = networkOf(text);
  assert.equal(networkOf(network), network, 'the network of a network is itself');
  const request = requestOf(text);
  for (const hops of [0, 1, 2, 10]) {
    const ip = forwardedFor(request, hops) ?? '';
    assert.ok(ip !== '' && (ip === '192.0.2.9' || text.includes(ip)));
    const client = clientOf({ ip, socket: request.socket });
    assert.ok(client.length <= 45);
    for (const [around, times] of networksAround(client)) assert.ok(around !== '' && times >= 1);
  }
}

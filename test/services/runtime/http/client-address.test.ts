import { expect, test } from 'vitest';
import {
  clientOf,
  forwardedFor,
  networkOf,
  networksAround,
} from '../../../../services/runtime/http/client-address.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['unknown', 'unknown'],
])('%s counts as %s', (address, client) => expect(networkOf(address)).toBe(client));

test('an IPv6 client counts in the wider networks too, which have more of the limit', () => {
  expect(networksAround(networkOf('2001:db8:1:a3f:3:4:5:6'))).toEqual([
    ['2001:db8:1:a3f', 1],
    ['2001:db8:1:0a/56', 4],
    ['2001:db8:1/48', 16],
  ]);
  expect(networksAround('10.1.2.3')).toEqual([['10.1.2.3', 1]]);
});

test('an address longer than any is replaced by that of the connection', () => {
  const socket = { remoteAddress: '10.0.0.1' };
  expect(clientOf({ ip: '2001:db8:1:2::9', socket })).toBe('2001:db8:1:2');
  expect(clientOf({ ip: 'a'.repeat(46), socket })).toBe('10.0.0.1');
  expect(clientOf({ socket })).toBe('10.0.0.1');
});

test.each([
  [0, '1.1.1.1, 2.2.2.2', '9.9.9.9'],
  [1, '1.1.1.1, 2.2.2.2', '2.2.2.2'],
  [2, '1.1.1.1, 2.2.2.2', '1.1.1.1'],
  [5, ' , 1.1.1.1 ,', '1.1.1.1'],
  [1, undefined, '9.9.9.9'],
])('behind %s proxies and forwarded for %s the client is %s', (hops, forwarded, client) => {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = { headers, socket: { remoteAddress: '9.9.9.9' } };
  expect(forwardedFor(request, hops)).toBe(client);
});

import { expect, test } from 'vitest';
import { refusal } from '../../../infra/cluster/registry-proxy.ts';

const accounts = {
  reader: { name: 'reader', password: 'r' },
  writer: { name: 'writer', password: 'w', before: 'v' },
};

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

test.each([
  ['the writer', 'POST', basic('writer:w'), undefined],
  ['the reader who reads', 'GET', basic('reader:r'), undefined],
  ['the reader who writes', 'POST', basic('reader:r'), 403],
  ['the reader who deletes', 'DELETE', basic('reader:r'), 403],
  ['the password before', 'POST', basic('writer:v'), undefined],
  ['a wrong password', 'GET', basic('writer:r'), 401],
  ['another kind of authorization', 'GET', 'Bearer writer:w', 401],
  ['nobody', 'GET', '', 401],
])('the registry answers %s', (_, method, authorization, status) => {
  expect(refusal({ method, authorization }, accounts)?.status).toBe(status);
});

import { expect, test } from 'vitest';
import {
  assert,
  Bug,
  Fault,
  messageOf,
  propertyOf,
} from '../../../../services/runtime/process/errors.ts';

test('a fault has a code, a retry flag and a cause', () => {
  const cause = new Error('socket closed');
  const fault = new Fault('storage_unreachable', 'Postgres cannot be reached', {
    retry: true,
    cause,
  });
  const { name, code, retry, message } = fault;
  expect({ name, code, retry, message, cause: fault.cause }).toEqual({
    name: 'Fault',
    code: 'storage_unreachable',
    retry: true,
    message: 'Postgres cannot be reached',
    cause,
  });
  expect('cause' in new Fault('x', 'y', { retry: false })).toBe(false);
});

test('a failed assertion is a bug', () => {
  expect(() => assert(false, 'the count is never negative')).toThrow(
    new Bug('the count is never negative'),
  );
  expect(() => assert(true, 'fine')).not.toThrow();
});

test('anything that can be thrown has a message', () => {
  expect(messageOf(new Error('plain'))).toBe('plain');
  expect(messageOf('text')).toBe('text');
  expect(
    messageOf(new AggregateError([new Error('connect ::1'), new Error('connect 127.0.0.1')])),
  ).toBe('connect ::1; connect 127.0.0.1');
  expect(messageOf(new AggregateError([new Error('part')], 'whole'))).toBe('whole');
});

test('a property that a driver added is read from errors only', () => {
  expect(propertyOf(Object.assign(new Error('x'), { code: '42P01' }), 'code')).toBe('42P01');
  expect(propertyOf(new Error('x'), 'code')).toBeUndefined();
  expect(propertyOf({ code: 1 }, 'code')).toBeUndefined();
});

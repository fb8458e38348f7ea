import { expect, test } from 'vitest';
import { watchRoom } from '../../../../infra/local/stack/room.ts';

test('each change of the room on the disk is said once, with what to do', () => {
  let free = 5_000 * 2 ** 20;
  const said: (readonly [string, boolean])[] = [];
  const folder = { root: '/', shelter: '/no such folder' };
  const room = watchRoom(
    folder,
    (text, isEnough) => void said.push([text, isEnough]),
    () => free,
  );
  for (const megabytes of [5_000, 900, 800, 10, 0, 40, 0, 3_000, 2_000]) {
    free = megabytes * 2 ** 20;
    room.check();
  }
  room.close();
  const low = 'when it is full the servers stop: make room';
  const full = 'make room; everything goes on by itself';
  expect(said).toEqual([
    [`low on disk: 900 MB free at /; ${low}`, true],
    [`disk full: 10 MB free at /: ${full}`, false],
    [`low on disk: 40 MB free at /; ${low}`, true],
    [`disk full: 0 MB free at /: ${full}`, false],
    ['room again: 3000 MB free at /', true],
  ]);
});

import { afterEach, expect, test, vi } from 'vitest';
import { timelineOf } from '../../../../../services/console/src/api/deposits.ts';

afterEach(() => void vi.unstubAllGlobals());

test.each(['../../public/policy?', 'a/../b', 'a#b', 'ä b'])(
  'an address of the page with the id %s asks for no other deposit or path',
  async (id) => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', (url: string) => {
      asked.push(new URL(url).href);
      return Promise.resolve(new Response('{}'));
    });
    const caller = { url: 'https://deposits.example', token: 'token' };
    await timelineOf(caller, id, new AbortController().signal);
    expect(asked).toEqual([
      `https://deposits.example/api/v1/deposits/${encodeURIComponent(id)}/events`,
    ]);
  },
);

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => void vi.stubGlobal('addEventListener', () => undefined));
afterEach(() => vi.unstubAllGlobals());

const [POOL, ESCROW, AUTHORITY, RIDER] = ['0xp', '0xe', '0xm', '0xr'];
const ZERO = `0x${'0'.repeat(40)}`;

type Answers = Readonly<Record<string, readonly object[]>>;

/** The names that a chain with these lists has; `next`: a list of validators that goes on. */
async function namesOf(answers: Answers, next?: string): Promise<unknown> {
  vi.stubGlobal('fetch', (url: string) => {
    const { pathname, searchParams } = new URL(url, 'http://explorer');
    const path = `${pathname.replace('/api/v1/', '')} ${searchParams.get('type') ?? ''}`.trim();
    const headers = path === 'validators' && next !== undefined ? { link: next } : undefined;
    return Promise.resolve(Response.json({ items: answers[path] ?? [] }, headers && { headers }));
  });
  const { readKnownNames } = await import('../../../../../services/console/src/api/known-names.ts');
  return readKnownNames(new AbortController().signal);
}

const CHAIN: Answers = {
  // newest first
  validators: [{ address: '0x2' }, { address: '0x1' }],
  blocks: [{ hash: '0xb' }],
  'transactions Mint': [{ from: AUTHORITY }],
  'transactions RideAcceptance': [{ hash: '0xa' }],
  'blocks/0xb/effects': [
    { kind: 'block_reward', direction: 'credit', address: '0x1' },
    { kind: 'block_reward', direction: 'debit', address: POOL },
  ],
  'transactions/0xa/effects': [
    { kind: 'tx_fee_paid', direction: 'debit', address: RIDER },
    { kind: 'ride_escrow', direction: 'debit', address: RIDER },
    { kind: 'ride_escrow', direction: 'credit', address: ESCROW },
  ],
};

test("the chain's own accounts are named by what blocks and calls did with them", async () => {
  expect(await namesOf(CHAIN)).toEqual({
    '0x1': 'Validator 1',
    '0x2': 'Validator 2',
    [AUTHORITY]: 'Mint authority',
    [POOL]: 'Reward pool',
    [ESCROW]: 'Escrow',
    [ZERO]: 'Zero address',
  });
});

test('an account that no block shows has no name', async () => {
  expect(await namesOf({})).toEqual({ [ZERO]: 'Zero address' });
});

test('validators have no numbers where the list goes on', async () => {
  const named = await namesOf(CHAIN, '</api/v1/validators?cursor=AAAAAAAAAAAAAAAA>; rel="next"');
  expect(Object.values(Object(named))).not.toContain('Validator 1');
});

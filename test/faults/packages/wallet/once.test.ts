import { expect, test } from 'vitest';
import { rides } from '../../../packages/wallet/rides.ts';

const HUNDREDS = Array.from({ length: 3 }, (_, at) => `hundred ${at + 1}`);

test.each(HUNDREDS)(
  'over %s rides a wallet that loses answers and sends again makes each payment once',
  async (seed) => {
    const { made, wanted } = await rides(100, seed);
    expect(made).toEqual(wanted);
  },
);

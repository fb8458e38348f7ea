import { expect, test } from 'vitest';
import { rides } from '../../../packages/wallet/rides.ts';

test('over a thousand rides a wallet that loses answers and sends again makes each payment once', async () => {
  const { made, wanted } = await rides(1_000, 'a thousand');
  expect(made).toEqual(wanted);
});

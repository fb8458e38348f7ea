import { expect, test } from 'vitest';
import { HOLD_REASONS } from '../../../../../schemas/deposit-policy.ts';
import { TEXT } from '../../../../../services/console/src/text.ts';
import { DEPOSIT_API } from '../../../../../schemas/deposit-api/document.ts';

test('every event of a timeline, and every reason of a hold, has words', () => {
  const events = DEPOSIT_API.components.schemas['TimelineEvent']?.properties?.['event']?.enum ?? [];
  expect(events).toContain('MintVoided');
  const { events: named, reasons } = TEXT.deposits;
  expect(events.filter((event) => !(event in named))).toEqual([]);
  expect(HOLD_REASONS.filter((reason) => !(reason in reasons))).toEqual([]);
});

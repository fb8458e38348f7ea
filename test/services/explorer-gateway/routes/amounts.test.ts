import { expect, test } from 'vitest';
import { withStringAmounts } from '../../../../services/explorer-gateway/routes/amounts.ts';
import { EXPLORER_API } from '../../../support/openapi.ts';

test('exactly the fields that the document calls amounts become text', () => {
  const entries = Object.values(EXPLORER_API.components.schemas).flatMap(({ properties = {} }) =>
    Object.entries(properties),
  );
  const json = (digits: string, isText: (reference: unknown) => boolean): string =>
    entries
      .map(([name, { $ref }]) => `{"${name}":${isText($ref) ? `"${digits}"` : digits}}`)
      .join();
  expect(entries.filter(([, { $ref }]) => isAmount($ref)).length).toBeGreaterThan(15);
  for (const digits of ['0', '-5', String(2n ** 256n)])
    expect(withStringAmounts(json(digits, () => false))).toBe(json(digits, isAmount));
});

test('a text that looks like an amount stays as it is', () => {
  const json = JSON.stringify({ label: 'a "amount":5', kind: '"fee":1', amount: 3 });
  expect(withStringAmounts(json)).toBe(json.replace(':3', ':"3"'));
});

function isAmount(reference: unknown): boolean {
  return String(reference).endsWith('Amount');
}

import assert from 'node:assert/strict';
import {
  parseReconciliation,
  reconciliationJson,
} from '../../../schemas/treasury-api/reconciliation.ts';
import { changedKeys } from '../../../services/runtime/read-version.ts';

export const about = "the treasury's reconciliation and change notifications: JSON and back";

const run =
  '"run_at":"2026-01-31T00:00:00.5Z","onchain_supply":1,"genesis_allocation":0,"treasury_minted":1,"ledger_liability":-1,"custody_reported":2';

export const seeds = [
  '{"last_run":null}',
  ...['ok', 'mismatch', 'over_backed_drift'].map(
    (each) => `{"last_run":{${run},"status":"${each}"}}`,
  ),
  '{"keys":["a","b"]}',
];
export const words = ['"2026-02-29T23:59:60+00:00"', '1e2', '"last_run":'];

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  assert.ok(changedKeys(text)?.every((each) => typeof each === 'string') ?? true);
  const parsed = parseReconciliation(text);
  if ('problem' in parsed) return assert.ok(parsed.problem !== '' && parsed.problem.length < 100);
  assert.deepEqual(parseReconciliation(reconciliationJson(parsed.value)), parsed);
}

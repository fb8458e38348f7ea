/** What can go wrong with the provider of TRON's data, each switched on over the admin port. */

export const TRON_FAULT_MODES = [
  /** every route answers 403: too many requests, suspended for 30 s */
  'status_403',
  /** every route answers 429 */
  'status_429',
  /** every route answers 503 with a page of HTML */
  'status_503',
  /** every route answers 200 with a page of HTML */
  'html',
  /** every route answers 200 with `success: false` */
  'success_false',
  /** every route answers 200 with an `Error` */
  'error_200',
  /** every route answers with the first half of its JSON */
  'truncated',
  /** the list is empty, receipts are {} */
  'empty',
  /** the first page of a list has every row twice; a later page is the one before it once more, with the same fingerprint */
  'repeat',
  /** solidified head, list and receipts are as of `delay_ms` ago */
  'lag',
  /** only the list is as of `delay_ms` ago */
  'list_lag',
  /** every route cuts the connection without an answer */
  'reset',
  /** every route waits `delay_ms` before it begins */
  'delay',
] as const;

export type TronFaultMode = (typeof TRON_FAULT_MODES)[number];

/** Where the request does not say. */
export const TRON_FAULT_DELAYS_MS: ReadonlyMap<TronFaultMode, number> = new Map([
  ['lag', 5_000],
  ['list_lag', 5_000],
  ['delay', 1_000],
]);

/** The services of the fault run of minting, and the failures of its node. */

export const SETTINGS = {
  devnet: {
    APP_TRAFFIC_PER_SECOND: '0',
    APP_BLOCK_INTERVAL_MS: '150',
    APP_FINALITY_DEPTH: '4',
    APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '200',
    APP_DEVNET_TRON_SOLIDIFY_MS: '200',
  },
  'tron-watcher': {
    APP_KAFKA_SESSION_MS: '2000',
    APP_TRON_REQUESTS_PER_SECOND: '500',
    APP_PASS_EVERY_MS: '200',
    APP_COLD_EVERY_MS: '500',
  },
};
/** With the second node's address, and later another key. */
export const TREASURY = {
  APP_ROLLING_CAP: String(10n ** 15n),
  APP_MINT_EVERY_MS: '100',
  APP_SNAPSHOT_BYTES_MIN: '1',
  APP_MINT_AGAIN_MS: '500',
  APP_RECONCILE_EVERY_MS: '1000',
  APP_RECONCILE_REQUESTS_PER_SECOND: '500',
  APP_RECONCILE_REQUESTS_PER_DAY: '0',
};

/** Failures of the node: mode, the most requests that it affects, and its time in ms. */
export const FAILURES = [
  ['accept_then_timeout', 3, 200],
  ['already_known', 6, 0],
  ['nonce_too_low', 6, 0],
  ['unknown_transaction', 6, 0],
  ['lag', 10, 600],
  ['status_503', 5, 0],
  ['reset', 5, 0],
  ['delay', 5, 100],
  ['human_takes_nonce', 2, 0],
] as const;

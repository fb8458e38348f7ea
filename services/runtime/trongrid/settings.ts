/** Settings of the services that use TRON's provider. */
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import { httpUrl, integer, text, type Setting } from '../process/config.ts';

/** 20 bytes. */
const USDT_CONTRACT: Setting<Buffer> = {
  name: 'APP_USDT_CONTRACT',
  expected: 'an address of TRON in base58 (34 characters, T first)',
  secret: false,
  read: parseTronAddress,
};

export const TRONGRID_SETTINGS = {
  usdt_contract: USDT_CONTRACT,
  tron_url: httpUrl('APP_TRON_URL'),
  /** empty where the provider needs none */
  tron_api_key: { ...text('APP_TRON_API_KEY', { default: '' }), secret: true },
  attempts_max: integer('APP_TRON_ATTEMPTS_MAX', { default: 4, min: 1, max: 100 }),
  backoff_ms_min: integer('APP_TRON_BACKOFF_MS_MIN', { default: 500, min: 1, max: 60_000 }),
  backoff_ms_max: integer('APP_TRON_BACKOFF_MS_MAX', { default: 60_000, min: 1, max: 3_600_000 }),
} as const;

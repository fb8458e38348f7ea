/** The zone of the times on all pages: that of the browser, or UTC, as its reader chose. */
import { storeOf } from './browser.ts';

const KEY = 'zone';
const UTC = 'UTC';
const STORE = storeOf('localStorage');

/** undefined: the zone of the browser */
export const TIME_ZONE = STORE.getItem(KEY) === UTC ? UTC : undefined;

/** By its name, such as `Europe/Berlin`. */
export const BROWSER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Loads the page again, with its times in the other zone. */
export function switchZone(): void {
  if (TIME_ZONE === undefined) STORE.setItem(KEY, UTC);
  else STORE.removeItem(KEY);
  location.reload();
}

/** Numbers and times as people read them. Amounts are exact: bigint in, text out. */
import { DECIMALS, DECIMALS_MIN, durationText, UNIT } from '../../../schemas/explorer-api/words.ts';
import { TEXT } from './text.ts';
import { TIME_ZONE } from './zone.ts';

export {
  amountText,
  durationText,
  grouped,
  shortened,
} from '../../../schemas/explorer-api/words.ts';

/** The word for a name that a service gives; one that is not known here is shown as it is. */
export function wordFor(words: Readonly<Record<string, string>>, name: string): string {
  return words[name] ?? name;
}

/** The zeros that `amountText` leaves out, so that digits of a column stand below each other. */
export function amountPadding(base: bigint): string {
  const size = base < 0n ? -base : base;
  const fraction = String(size % UNIT).padStart(DECIMALS, '0');
  const shown = Math.max(DECIMALS_MIN, fraction.replace(/0+$/, '').length);
  return '0'.repeat(DECIMALS - shown);
}

/** Only for the height of a point in a plot. */
export function plotted(base: bigint): number {
  return Number(base) / Number(UNIT);
}

/** The pages are in English, and so are their numbers: dates follow, as the browser writes them. */
const LOCALE = navigator.languages.find((language) => language.startsWith('en')) ?? 'en-GB';

function timeFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(LOCALE, {
    ...(TIME_ZONE !== undefined && { timeZone: TIME_ZONE }),
    ...options,
  });
}

const LOCAL = timeFormat({ dateStyle: 'medium', timeStyle: 'medium' });
const HALF_DAY_MS = 43_200_000;
const CLOCK = timeFormat({ timeStyle: 'medium' });

/** In the zone of the reader. */
export function localTime(iso: string): string {
  return LOCAL.format(new Date(iso));
}

/** In the zone of the reader: the time of day, with the date where it may be another day's. */
export function localClock(at: number, now = Date.now()): string {
  return (Math.abs(now - at) <= HALF_DAY_MS ? CLOCK : LOCAL).format(at);
}

const HOUR = timeFormat({ dateStyle: 'medium', timeStyle: 'short' });
const UTC_DAY = timeFormat({ dateStyle: 'medium', timeZone: 'UTC' });

/** In the zone of the reader, to the minute. */
export function localHour(iso: string): string {
  return HOUR.format(new Date(iso));
}

export function utcDay(iso: string): string {
  return UTC_DAY.format(new Date(iso));
}

const DAY_S = 86_400;
/** How long ago. A time ahead of the clock is `0 s`. */
export function age(iso: string, now: number): string {
  return durationText(Math.max(0, (now - Date.parse(iso)) / 1_000));
}

/** Figures of an axis: as short as they are true, and without a unit that hides them. */
export function tickLabels(ticks: readonly number[]): string[] {
  const formats = [
    ...[0, 1, 2].map((digits) => ({ notation: 'compact' as const, digits })),
    ...[0, 1, 2, 3, 4, 5].map((digits) => ({ notation: 'standard' as const, digits })),
  ];
  const labelsOf = ({ notation, digits }: (typeof formats)[number], more: number): string[] => {
    const maximumFractionDigits = digits + more;
    const format = new Intl.NumberFormat('en', { notation, maximumFractionDigits });
    return ticks.map((tick) => format.format(tick));
  };
  const labels = formats.map((format) => [labelsOf(format, 0), labelsOf(format, 6)] as const);
  // true: further digits add nothing
  const [first] = labels.find(([short, long]) => String(short) === String(long)) ?? [];
  return first ?? labels.at(-1)?.[0] ?? [];
}

const TICK = {
  day: { month: 'short', day: 'numeric' },
  minute: { timeStyle: 'short' },
  second: { timeStyle: 'medium' },
} as const;

/** Times of an axis, in Unix seconds and rising, `step` seconds apart: the day, or the time. */
export function timeLabels(ticks: readonly number[], step: number, isUtc = false): string[] {
  return ticks.map((tick) => {
    const at = tick * 1_000;
    const isMidnight =
      TIME_ZONE === undefined ? at === new Date(at).setHours(0, 0, 0, 0) : tick % DAY_S === 0;
    const isDay = step >= DAY_S || isMidnight;
    const shown = isDay ? 'day' : step >= 60 ? 'minute' : 'second';
    return timeFormat({ ...TICK[shown], ...(isUtc && { timeZone: 'UTC' }) }).format(at);
  });
}

/** The part of an amount that is paid, from 0 to 1; only for what is drawn. */
export function shareOf(part: string, whole: string): number {
  const [of, all] = [BigInt(part), BigInt(whole)];
  if (all === 0n || of >= all) return 1;
  return Number((of * 10_000n) / all) / 10_000;
}

/** Base units of an amount as people write it, `1,234.5`; undefined for any other text. */
export function baseUnits(text: string): bigint | undefined {
  const [, whole, fraction = ''] =
    /^([0-9][0-9,]{0,30})(?:\.([0-9]{0,6}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return undefined;
  return BigInt(whole.replaceAll(',', '')) * UNIT + BigInt(fraction.padEnd(DECIMALS, '0'));
}

/** Degrees with their direction; 4 decimals are about ten metres. */
export function coordinatesText(
  place: { readonly latitude: number; readonly longitude: number },
  decimals = 4,
): string {
  const degrees = (value: number, positive: string, negative: string): string =>
    `${Math.abs(value).toFixed(decimals)}° ${value < 0 ? negative : positive}`;
  const { north, south, east, west } = TEXT.directions;
  return `${degrees(place.latitude, north, south)}, ${degrees(place.longitude, east, west)}`;
}

/** The answer to a question for a list: the envelope, and the address of the next page. */
import type { Page } from '../../../projections/contract/page.ts';
import type { HttpResponse } from '../../runtime/http/handler.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { cursorOf } from './cursor.ts';
import { pageBody } from './json.ts';

/** What means itself in a query. */
const PLAIN = /^[\w.-]*$/;

/** One page of a list as it was asked for. */
export interface Listed {
  /** of the request, without its query; in it, only what is safe in a header */
  readonly path: string;
  /** the parameters that filter, as they were given */
  readonly filters: Readonly<Record<string, string>>;
  readonly page: Page;
  /** the list as `cursorOf` wants it */
  readonly list: string;
}

/** `rows` end in their place; `toJson` makes an item of each. A full page links to the one below its last row. */
export function listAnswer(
  listed: Listed,
  rows: readonly Cells[],
  toJson: (cells: Cells) => string,
): HttpResponse {
  const { page } = listed;
  const place = rows.length === page.limit ? rows.at(-1)?.at(-1) : undefined;
  const body = pageBody(rows, toJson, page);
  if (place === undefined || place === null) return { status: 200, body };
  return { status: 200, body, headers: { link: nextPage(listed, BigInt(place)) } };
}

function nextPage({ path, filters, page, list }: Listed, place: bigint): string {
  const given = Object.entries(filters).map(([name, value]) => `${name}=${encoded(value)}&`);
  return `<${path}?${given.join('')}limit=${page.limit}&cursor=${cursorOf(list, place)}>; rel="next"`;
}

/** As forms encode it. Most values need none, and asking for it costs more than all the rest of a link. */
function encoded(value: string): string {
  return PLAIN.test(value) ? value : new URLSearchParams([['', value]]).toString().slice(1);
}

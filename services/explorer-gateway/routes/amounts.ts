/** `?amounts=string`: amounts as JSON text, for clients whose JSON numbers end at 2^53. */
import type { GetRoute } from '../../runtime/http/handler.ts';
import { parseAmounts } from './parameters.ts';

/**
 * The fields that hold amounts. Such text is never inside a JSON string, where the quote before the
 * colon would be escaped.
 */
const AMOUNTS =
  /"(amount|fee|request_referrer_fee|offer_referrer_fee|block_reward|total_fees|balance|delta|onchain_supply|genesis_allocation|treasury_minted|ledger_liability|custody_reported|burned|held|retained_fees|fees|fares|supply)":(-?\d+)/g;

/** JSON text with its amounts in quotes. */
export function withStringAmounts(json: string): string {
  return json.replaceAll(AMOUNTS, '"$1":"$2"');
}

/** The route with amounts as the client asks for them. */
export function amountsAsAsked(route: GetRoute): GetRoute {
  return {
    ...route,
    handle: async (request) => {
      const amounts = parseAmounts(request.query);
      if ('refused' in amounts) return amounts;
      const answer = await route.handle(request);
      if (!amounts.are_strings || 'refused' in answer || typeof answer.body !== 'string')
        return answer;
      const { headers } = answer;
      const link = headers?.['link']?.replace('?', '?amounts=string&');
      return {
        ...answer,
        body: withStringAmounts(answer.body),
        ...(link !== undefined && { headers: { ...headers, link } }),
      };
    },
  };
}

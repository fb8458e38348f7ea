/** Routes of the explorer by their definitions. */
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import { AMOUNTS } from '../../../schemas/explorer-api/parameters.ts';
import type { Operation } from '../../../schemas/http-api/document.ts';
import type { Parameter, Values } from '../../../schemas/http-api/parameters.ts';
import type { Answered, GetRoute, HttpRequest } from '../../runtime/http/handler.ts';
import { served as servedPlainly } from '../../runtime/http/served.ts';

/**
 * The route of an operation. Each knows `amounts`, and answers with its amounts as JSON text when
 * it is asked to.
 */
export function served<const Parameters extends readonly Parameter[]>(
  { parameters, ...operation }: Operation<Parameters>,
  handle: (values: Values<Parameters>, request: HttpRequest) => Answered | Promise<Answered>,
): GetRoute {
  const known = [AMOUNTS, ...parameters.filter((each) => each !== AMOUNTS)];
  return servedPlainly({ ...operation, parameters: known }, async (values, request) => {
    const answer = await handle(Object(values), request);
    return values['amounts'] === undefined ? answer : withText(answer);
  });
}

function withText(answer: Answered): Answered {
  if ('refused' in answer || typeof answer.body !== 'string') return answer;
  const { headers } = answer;
  const link = headers?.['link']?.replace('?', '?amounts=string&');
  return {
    ...answer,
    body: withStringAmounts(answer.body),
    ...(link !== undefined && { headers: { ...headers, link } }),
  };
}

/** The fields that hold amounts. */
const FIELDS = new Set(
  Object.values(EXPLORER_API.components.schemas).flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([name, { $ref = '' }]) =>
      $ref.endsWith('Amount') ? [name] : [],
    ),
  ),
);

/** An amount field. Inside a JSON string the quote before the colon would be escaped. */
const AMOUNT = new RegExp(`"(${[...FIELDS].join('|')})":(-?\\d+)`, 'g');

/** JSON text with its amounts in quotes. */
export function withStringAmounts(json: string): string {
  return json.replaceAll(AMOUNT, '"$1":"$2"');
}

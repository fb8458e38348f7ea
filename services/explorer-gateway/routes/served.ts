/** Routes by their definitions: parameters are read, then a handler is given their values. */
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import { AMOUNTS } from '../../../schemas/explorer-api/parameters.ts';
import type { Operation } from '../../../schemas/http-api/document.ts';
import {
  isRefused,
  readParts,
  readQuery,
  type Parameter,
  type Values,
} from '../../../schemas/http-api/parameters.ts';
import type { GetRoute, HttpRequest, HttpResponse } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';

type Answered = HttpResponse | Refusal;

/**
 * The route of an operation. Each knows `amounts`, and answers with its amounts as JSON text when
 * it is asked to.
 */
export function served<const Parameters extends readonly Parameter[]>(
  { path, parameters }: Operation<Parameters>,
  handle: (values: Values<Parameters>, request: HttpRequest) => Answered | Promise<Answered>,
): GetRoute {
  const parts = parameters.filter((each) => each.in === 'path');
  const queried = parameters.filter((each) => each.in === 'query' && each !== AMOUNTS);
  const known = [AMOUNTS, ...queried];
  return {
    method: 'get',
    path,
    handle: async (request) => {
      const named = readParts(request.params, parts);
      if (isRefused(named)) return named;
      const given = readQuery(request.query, known);
      if (isRefused(given)) return given;
      const answer = await handle(Object.assign(Object(given), named), request);
      return given['amounts'] === undefined ? answer : withText(answer);
    },
  };
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

/** Such text is never inside a JSON string, where the quote before the colon would be escaped. */
const AMOUNT = new RegExp(`"(${[...FIELDS].join('|')})":(-?\\d+)`, 'g');

/** JSON text with its amounts in quotes. */
export function withStringAmounts(json: string): string {
  return json.replaceAll(AMOUNT, '"$1":"$2"');
}

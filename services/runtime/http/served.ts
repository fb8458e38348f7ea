/** Routes by their definitions: parameters are read, then a handler is given their values. */
import type { Operation } from '../../../schemas/http-api/document.ts';
import {
  isRefused,
  readParts,
  readQuery,
  type InvalidRequest,
  type Parameter,
  type Values,
} from '../../../schemas/http-api/parameters.ts';
import type { Answered, GetRoute, HttpRequest } from './handler.ts';

export function served<const Parameters extends readonly Parameter[]>(
  { path, parameters }: Operation<Parameters>,
  handle: (values: Values<Parameters>, request: HttpRequest) => Answered | Promise<Answered>,
): GetRoute {
  const read = readerOf(parameters);
  return {
    method: 'get',
    path,
    handle: (request) => {
      const values = read(request);
      return isRefused(values) ? values : handle(values, request);
    },
  };
}

/** Reads the values of these parameters. */
export function readerOf<const Parameters extends readonly Parameter[]>(
  parameters: Parameters,
): (request: HttpRequest) => Values<Parameters> | InvalidRequest {
  const parts = parameters.filter((each) => each.in === 'path');
  const queried = parameters.filter((each) => each.in === 'query');
  return ({ params, query }) => {
    const named = readParts(params, parts);
    if (isRefused(named)) return named;
    const given = readQuery(query, queried);
    return isRefused(given) ? given : Object.assign(Object(given), named);
  };
}

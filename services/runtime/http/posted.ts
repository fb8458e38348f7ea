/** Routes that are posted to, by their definitions: parameters and a body are read. */
import { text } from 'node:stream/consumers';
import type { TObject, TProperties, TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import type { Defined, Shape } from '../../../schemas/http-api/answer.ts';
import type { Operation } from '../../../schemas/http-api/document.ts';
import {
  invalid,
  isRefused,
  type InvalidRequest,
  type Parameter,
  type Values,
} from '../../../schemas/http-api/parameters.ts';
import type { HttpRequest, PostRoute } from './handler.ts';
import { readerOf, type Answered } from './served.ts';

export function posted<const Parameters extends readonly Parameter[], Body extends TProperties>(
  { path, parameters, body }: Operation<Parameters, Body>,
  handle: (
    values: Values<Parameters> & Shape<TObject<Body>>,
    request: HttpRequest,
  ) => Answered | Promise<Answered>,
): PostRoute {
  const read = readerOf(parameters);
  return {
    method: 'post',
    path,
    handle: async (request) => {
      const values = read(request);
      if (isRefused(values)) return values;
      const sent = body === undefined ? {} : await readBody(request, body.properties);
      return isRefused(sent) ? sent : handle(Object.assign(Object(values), sent), request);
    },
  };
}

/** JSON alone, which a form of another page cannot send; other fields are ignored. */
async function readBody(
  request: Parameters<PostRoute['handle']>[0],
  fields: TProperties,
): Promise<object> {
  const { 'content-type': type = '', 'content-length': length } = request.headers;
  if (!type.startsWith('application/json') || length === undefined)
    return invalid('the body is JSON, with its length');
  const sent = jsonIn(await text(request));
  if (typeof sent !== 'object' || sent === null) return invalid('the body is a JSON object');
  return valuesOf(sent, fields);
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function valuesOf(sent: object, fields: TProperties): object | InvalidRequest {
  const values = Object();
  for (const [name, schema] of Object.entries<TSchema>(fields)) {
    const value: unknown = Reflect.get(sent, name);
    const { is }: Defined = schema;
    if (!Check(schema, value)) return invalid(`${name} is ${is}`);
    values[name] = value;
  }
  return values;
}

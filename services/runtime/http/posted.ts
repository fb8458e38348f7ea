/** Routes that are posted to, by their definitions: parameters and a body are read. */
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
import type { Answered, HttpRequest, PostRoute } from './handler.ts';
import { jsonIn } from './json-body.ts';
import { readerOf } from './served.ts';

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
    handle: (request) => {
      const values = read(request);
      if (isRefused(values)) return values;
      const sent = body === undefined ? {} : readBody(request.body, body.properties);
      return isRefused(sent) ? sent : handle(Object.assign(Object(values), sent), request);
    },
  };
}

/** JSON alone, which a form of another page cannot send; other fields are ignored. */
function readBody(body: unknown, fields: TProperties): object | InvalidRequest {
  if (!Buffer.isBuffer(body))
    return invalid('the body is JSON, with content-type application/json');
  const read = jsonIn(body);
  if ('not' in read) return invalid(`the body is not ${read.not}`);
  const { json } = read;
  if (typeof json !== 'object' || json === null) return invalid('the body is a JSON object');
  return valuesOf(json, fields);
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

/** The schema as it is written in schemas/hub.graphql, with its resolvers. Every root field has one, and every resolver its field. */
import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { assert } from '../../runtime/process/errors.ts';
import { RESOLVERS, type AnyResolver } from './resolvers.ts';

/** The text of the schema. */
export const HUB_SDL = readFileSync(
  new URL('../../../schemas/hub.graphql', import.meta.url),
  'utf8',
);

export function hubSchema(): GraphQLSchema {
  const schema = buildSchema(HUB_SDL);
  const types = {
    Query: schema.getQueryType(),
    Mutation: schema.getMutationType(),
    Subscription: schema.getSubscriptionType(),
  };
  for (const [name, resolvers] of Object.entries<Readonly<Record<string, AnyResolver>>>(
    RESOLVERS,
  )) {
    const fields =
      Object.entries(types)
        .find(([each]) => each === name)?.[1]
        ?.getFields() ?? {};
    assert(
      Object.keys(fields).toSorted().join() === Object.keys(resolvers).toSorted().join(),
      `the fields of ${name} and their resolvers are not the same`,
    );
    for (const [field, resolve] of Object.entries(resolvers))
      Object.assign(fields[field] ?? {}, { resolve });
  }
  return schema;
}

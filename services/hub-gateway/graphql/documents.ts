/** Operations that come over a socket, parsed and held against the same rules as those that come over HTTP. Those seen lately are not read again. */
import {
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type ValidationRule,
} from 'graphql';
import { VALIDATION_FAILED } from './errors.ts';
import { operationLimits, TOKENS_MAX } from '../http/limits.ts';

const KEPT_MAX = 1_000;
const KEPT_CHARACTERS_MAX = 8_192;
/** Of what is wrong with one operation, told at once. */
export const ERRORS_MAX = 10;

export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules: readonly ValidationRule[];
  /** valid ones, the least recently used first */
  readonly #kept = new Map<string, DocumentNode>();

  constructor(schema: GraphQLSchema, introspection: boolean) {
    this.#schema = schema;
    this.#rules = [
      ...specifiedRules,
      operationLimits,
      ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
    ];
  }

  /** The document, or what is wrong with it. */
  read(text: string): DocumentNode | readonly GraphQLError[] {
    const known = this.#kept.get(text);
    if (known !== undefined) {
      this.#kept.delete(text);
      this.#kept.set(text, known);
      return known;
    }
    let document: DocumentNode;
    try {
      document = parse(text, { maxTokens: TOKENS_MAX });
    } catch (error) {
      if (error instanceof GraphQLError) return [coded(error, 'GRAPHQL_PARSE_FAILED')];
      throw error;
    }
    const problems = this.#problems(document);
    if (problems.length > 0) return problems.map((problem) => coded(problem, VALIDATION_FAILED));
    if (text.length <= KEPT_CHARACTERS_MAX) this.#keep(text, document);
    return document;
  }

  #problems(document: DocumentNode): readonly GraphQLError[] {
    try {
      return validate(this.#schema, document, this.#rules, { maxErrors: ERRORS_MAX });
    } catch (error) {
      // some of what is wrong it throws
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  }

  #keep(text: string, document: DocumentNode): void {
    this.#kept.set(text, document);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) return;
      this.#kept.delete(oldest);
    }
  }
}

export function coded(error: GraphQLError, code: string): GraphQLError {
  error.extensions['code'] = code;
  return error;
}

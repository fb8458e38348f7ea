/** Parsing, validation and limits of documents, with a cache; the same for HTTP and sockets. */
import {
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  parse,
  print,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type ValidationRule,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { documentLimits, type DocumentLimits } from '../../runtime/limits/documents.ts';
import { VALIDATION_FAILED } from './errors.ts';

const CACHED_MAX = 1_000;
const CACHED_CHARACTERS_MAX = 8_192;
/** In the error of graphql-js. */
const TOO_MANY_TOKENS = /more tha[tn] \d+ tokens/;

export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules: readonly ValidationRule[];
  readonly #limits: DocumentLimits;
  readonly #cache = new LRUCache<string, DocumentNode>({ max: CACHED_MAX });

  constructor(schema: GraphQLSchema, introspection: boolean, limits = documentLimits()) {
    this.#schema = schema;
    this.#limits = limits;
    this.#rules = [...specifiedRules, ...(introspection ? [] : [NoSchemaIntrospectionCustomRule])];
  }

  /** The valid document of this text, or its errors. */
  read(text: string): DocumentNode | readonly GraphQLError[] {
    const cached = this.#cache.get(text);
    if (cached !== undefined) return cached;
    let document: DocumentNode;
    try {
      document = parse(text, this.#limits.parsing);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      if (TOO_MANY_TOKENS.test(error.message)) this.#limits.refused();
      return [withCode(error, 'GRAPHQL_PARSE_FAILED')];
    }
    const errors = this.#validate(document);
    if (errors.length > 0) return errors.map((error) => withCode(error, VALIDATION_FAILED));
    if (text.length <= CACHED_CHARACTERS_MAX) this.#cache.set(text, document);
    return document;
  }

  #validate(document: DocumentNode): readonly GraphQLError[] {
    const { tooLarge, validation } = this.#limits;
    // before the validation, which takes long for what is refused here
    const errors = tooLarge(document);
    if (errors.length > 0) return errors;
    try {
      return validate(this.#schema, document, this.#rules, validation);
    } catch (error) {
      // graphql-js throws some validation errors of subscriptions
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  }
}

/**
 * The text of an operation and the fragments that it uses, the same for all documents that differ
 * in layout, comments, the operation's name, or in other operations.
 */
export function textOf(document: DocumentNode, operation: OperationDefinitionNode): string {
  const { name: _name, ...unnamed } = operation;
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return print({ kind: Kind.DOCUMENT, definitions: [unnamed, ...fragments] });
}

export function withCode(error: GraphQLError, code: string): GraphQLError {
  error.extensions['code'] = code;
  return error;
}

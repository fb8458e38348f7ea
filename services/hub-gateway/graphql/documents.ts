/** Parsing, validation and limits of documents, with a cache; the same for HTTP and sockets. */
import {
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  print,
  specifiedRules,
  validate,
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { VALIDATION_FAILED } from './errors.ts';

/**
 * Tokens of one document: graphql-js compares all fields and fragments in pairs, also those of a
 * document that is refused. Introspection has 184, and all queries with every field and
 * `__typename` have 273.
 */
export const TOKENS_MAX = 300;
/** Errors of one document that are reported. */
const ERRORS_MAX = 10;
/** Errors of variables that are reported: each one prints the whole variable. */
export const VARIABLE_ERRORS_MAX = 1;

/** The standard introspection query is 15 deep and has some 200 fields. */
const OPERATION_LIMITS = { depth: 20, fields: 500, aliases: 50, root_fields: 10 } as const;
/** A subscription is executed again and again: twice what a list with every field needs. */
const SUBSCRIPTION_LIMITS = { depth: 20, fields: 50, aliases: 10, root_fields: 1 } as const;
/** Signing in recovers a public key, which costs as much as many other fields. */
const ROOT_COSTS: ReadonlyMap<string, number> = new Map([
  ['generateToken', OPERATION_LIMITS.root_fields],
]);

const CACHED_MAX = 1_000;
const CACHED_CHARACTERS_MAX = 8_192;

export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules: readonly ValidationRule[];
  readonly #cache = new LRUCache<string, DocumentNode>({ max: CACHED_MAX });

  constructor(schema: GraphQLSchema, introspection: boolean) {
    this.#schema = schema;
    this.#rules = [
      ...specifiedRules,
      operationLimits,
      ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
    ];
  }

  /** The valid document of this text, or its errors. */
  read(text: string): DocumentNode | readonly GraphQLError[] {
    const cached = this.#cache.get(text);
    if (cached !== undefined) return cached;
    let document: DocumentNode;
    try {
      document = parse(text, { maxTokens: TOKENS_MAX });
    } catch (error) {
      if (error instanceof GraphQLError) return [withCode(error, 'GRAPHQL_PARSE_FAILED')];
      throw error;
    }
    const errors = this.#validate(document);
    if (errors.length > 0) return errors.map((error) => withCode(error, VALIDATION_FAILED));
    if (text.length <= CACHED_CHARACTERS_MAX) this.#cache.set(text, document);
    return document;
  }

  #validate(document: DocumentNode): readonly GraphQLError[] {
    try {
      return validate(this.#schema, document, this.#rules, { maxErrors: ERRORS_MAX });
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

const NOTHING = { depth: 0, fields: 0, aliases: 0, root_fields: 0 };
type Size = Readonly<typeof NOTHING>;

/** A validation rule for the size of an operation. A fragment counts at each of its uses. */
export function operationLimits(context: ValidationContext): ASTVisitor {
  const sizes = new Map<FragmentDefinitionNode, Size>();
  const sizeOf = (set: SelectionSetNode | undefined): Size => {
    let { depth, fields, aliases, root_fields: rootFields } = NOTHING;
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) {
        const inner = sizeOf(selection.selectionSet);
        depth = Math.max(depth, inner.depth + 1);
        fields += inner.fields + 1;
        aliases += inner.aliases + (selection.alias === undefined ? 0 : 1);
        rootFields += ROOT_COSTS.get(selection.name.value) ?? 1;
      } else {
        const inner =
          selection.kind === Kind.INLINE_FRAGMENT
            ? sizeOf(selection.selectionSet)
            : sizeOfFragment(selection.name.value);
        depth = Math.max(depth, inner.depth);
        fields += inner.fields;
        aliases += inner.aliases;
        rootFields += inner.root_fields;
      }
    }
    return { depth, fields, aliases, root_fields: rootFields };
  };
  const sizeOfFragment = (name: string): Size => {
    const fragment = context.getFragment(name);
    if (fragment === null || fragment === undefined) return NOTHING;
    const known = sizes.get(fragment);
    if (known !== undefined) return known;
    // ends the recursion of a fragment that contains itself, which another rule refuses
    sizes.set(fragment, NOTHING);
    const size = sizeOf(fragment.selectionSet);
    sizes.set(fragment, size);
    return size;
  };
  return {
    OperationDefinition(node) {
      const size: Readonly<Record<string, number>> = { ...sizeOf(node.selectionSet) };
      const isSubscription = node.operation === OperationTypeNode.SUBSCRIPTION;
      const limits = isSubscription ? SUBSCRIPTION_LIMITS : OPERATION_LIMITS;
      for (const [dimension, max] of Object.entries(limits)) {
        if ((size[dimension] ?? 0) <= max) continue;
        const message = `the ${node.operation} is too large: at most ${max} for its ${dimension.replace('_', ' ')}`;
        context.reportError(new GraphQLError(message, { nodes: node }));
      }
    },
  };
}

/**
 * The limit of the size of a GraphQL document. graphql-js compares fields of the same name and
 * fragments in pairs, and every field of an operation is executed.
 */
import {
  GraphQLError,
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { ON, type Limit } from './limits.ts';

/**
 * Tokens of one document. Introspection has 184, and all queries with every field and `__typename`
 * have 273.
 */
const TOKENS_MAX = 300;
/** Errors of one document that are reported. */
const ERRORS_MAX = 10;
/** Errors of variables that are reported: each one prints the whole variable. */
export const VARIABLE_ERRORS_MAX = 1;

/**
 * The standard introspection query is 15 deep and has some 200 fields. An alias is in every row of
 * an answer.
 */
const OPERATION_LIMITS = {
  depth: 20,
  fields: 500,
  aliases: 50,
  root_fields: 10,
  repeats: 10,
  alias_length: 64,
} as const;
/** A subscription is executed again and again: twice what a list with every field needs. */
const SUBSCRIPTION_LIMITS = {
  depth: 20,
  fields: 50,
  aliases: 10,
  root_fields: 1,
  repeats: 10,
  alias_length: 64,
} as const;
/** Signing in recovers a public key, which costs as much as many other fields. */
const ROOT_COSTS: ReadonlyMap<string, number> = new Map([
  ['generateToken', OPERATION_LIMITS.root_fields],
]);

const NOTHING = { depth: 0, fields: 0, aliases: 0, root_fields: 0, repeats: 0, alias_length: 0 };
type Size = Readonly<typeof NOTHING>;

/** Bounds of one document: options of graphql-js, and a check of its size before validation. */
export interface DocumentLimits {
  /** of `parse` */
  readonly parsing: { readonly maxTokens?: number };
  /** of `validate` */
  readonly validation: { readonly maxErrors?: number };
  /** of `getVariableValues` and Apollo */
  readonly variables: { readonly maxErrors?: number };
  /** The errors of the first operation that is too large; empty: none is. */
  readonly tooLarge: (document: DocumentNode) => readonly GraphQLError[];
  /** Counts a document that was not parsed because of its tokens. */
  readonly refused: () => void;
}

export function documentLimits(limit: Limit = ON): DocumentLimits {
  if (!limit.is_on)
    return {
      parsing: {},
      validation: {},
      variables: {},
      tooLarge: () => [],
      refused: () => limit.refused(),
    };
  return {
    parsing: { maxTokens: TOKENS_MAX },
    validation: { maxErrors: ERRORS_MAX },
    variables: { maxErrors: VARIABLE_ERRORS_MAX },
    tooLarge(document) {
      const errors = sizeErrors(document);
      for (const _ of errors) limit.refused();
      return errors;
    },
    refused: () => limit.refused(),
  };
}

/** As `tooLarge` returns them. A fragment counts at each of its uses. */
function sizeErrors({ definitions }: DocumentNode): readonly GraphQLError[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const each of definitions)
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each);
  const sizes = new Map<FragmentDefinitionNode, Size>();
  const sizeOf = (set: SelectionSetNode | undefined): Size => {
    let {
      depth,
      fields,
      aliases,
      root_fields: rootFields,
      repeats,
      alias_length: aliasLength,
    } = NOTHING;
    const named = new Map<string, number>();
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) {
        const inner = sizeOf(selection.selectionSet);
        const name = selection.alias?.value ?? selection.name.value;
        const times = (named.get(name) ?? 0) + 1;
        named.set(name, times);
        repeats = Math.max(repeats, inner.repeats, times);
        depth = Math.max(depth, inner.depth + 1);
        fields += inner.fields + 1;
        aliases += inner.aliases + (selection.alias === undefined ? 0 : 1);
        aliasLength = Math.max(aliasLength, inner.alias_length, selection.alias?.value.length ?? 0);
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
        repeats = Math.max(repeats, inner.repeats);
        aliasLength = Math.max(aliasLength, inner.alias_length);
      }
    }
    return { depth, fields, aliases, root_fields: rootFields, repeats, alias_length: aliasLength };
  };
  const sizeOfFragment = (name: string): Size => {
    const fragment = fragments.get(name);
    if (fragment === undefined) return NOTHING;
    const known = sizes.get(fragment);
    if (known !== undefined) return known;
    // ends the recursion of a fragment that contains itself, which validation refuses
    sizes.set(fragment, NOTHING);
    const size = sizeOf(fragment.selectionSet);
    sizes.set(fragment, size);
    return size;
  };
  for (const node of definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const size: Readonly<Record<string, number>> = { ...sizeOf(node.selectionSet) };
    const isSubscription = node.operation === OperationTypeNode.SUBSCRIPTION;
    const limits = isSubscription ? SUBSCRIPTION_LIMITS : OPERATION_LIMITS;
    const errors = Object.entries(limits)
      .filter(([dimension, max]) => (size[dimension] ?? 0) > max)
      .map(([dimension, max]) => {
        const message = `the ${node.operation} is too large: at most ${max} for its ${dimension.replace('_', ' ')}`;
        return new GraphQLError(message, { nodes: node });
      });
    if (errors.length > 0) return errors;
  }
  return [];
}

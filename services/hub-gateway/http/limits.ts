/** How much one operation may ask for: a validation rule, the same for HTTP and sockets. Fragments count wherever they are used. */
import {
  GraphQLError,
  Kind,
  type ASTVisitor,
  type FragmentDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/** Of one document. */
export const TOKENS_MAX = 1_000;

/** The standard introspection query is 15 deep and has some 200 fields. */
export const OPERATION_LIMITS = { depth: 20, fields: 500, aliases: 50, root_fields: 10 } as const;

/** Signing in costs as much as many other fields. */
const ROOT_COSTS: ReadonlyMap<string, number> = new Map([
  ['generateToken', OPERATION_LIMITS.root_fields],
]);

interface Size {
  readonly depth: number;
  readonly fields: number;
  readonly aliases: number;
  /** of the topmost fields alone */
  readonly root_fields: number;
}

const NOTHING: Size = { depth: 0, fields: 0, aliases: 0, root_fields: 0 };

/** A rule for `validate`. */
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
    // one that contains itself is refused by another rule; here it must only come to an end
    sizes.set(fragment, NOTHING);
    const size = sizeOf(fragment.selectionSet);
    sizes.set(fragment, size);
    return size;
  };
  return {
    OperationDefinition(node) {
      const size: Readonly<Record<string, number>> = { ...sizeOf(node.selectionSet) };
      for (const [what, max] of Object.entries(OPERATION_LIMITS)) {
        if ((size[what] ?? 0) <= max) continue;
        const message = `the operation is too large: at most ${max} for its ${what.replace('_', ' ')}`;
        context.reportError(new GraphQLError(message, { nodes: node }));
      }
    },
  };
}

/** How long operations take, by the field that they ask for: names that the schema has, so that nobody can make up new ones. Answers that are kept are counted elsewhere. */
import { performance } from 'node:perf_hooks';
import type { ApolloServerPlugin } from '@apollo/server';
import { Kind, type OperationDefinitionNode } from 'graphql';
import type { Metrics } from '../../runtime/process/metrics.ts';
import type { HubContext } from '../hub.ts';

/** For Apollo: observes each operation that it answers. */
export function operationTimes(metrics: Metrics): ApolloServerPlugin<HubContext> {
  const seconds = metrics.histogram(
    'hub_operation_seconds',
    'operations over HTTP, by their field and whether there were errors',
    ['operation', 'outcome'],
  );
  return {
    requestDidStart() {
      const begun = performance.now();
      // before it is validated nobody knows whether there is such a field
      let field = 'refused';
      return Promise.resolve({
        didResolveOperation({ operation }) {
          if (operation !== undefined) field = fieldOf(operation);
          return Promise.resolve();
        },
        willSendResponse({ response: { body } }) {
          const failed = body.kind === 'single' && body.singleResult.errors !== undefined;
          seconds.observe(
            { operation: field, outcome: failed ? 'error' : 'ok' },
            (performance.now() - begun) / 1_000,
          );
          return Promise.resolve();
        },
      });
    },
  };
}

function fieldOf({ selectionSet: { selections } }: OperationDefinitionNode): string {
  const [first, ...more] = selections;
  return first?.kind === Kind.FIELD && more.length === 0 ? first.name.value : 'several';
}

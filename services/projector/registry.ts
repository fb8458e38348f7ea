/** All projections, by the name that `projector <name>` takes. */
import { deposits } from '../../projections/deposits/deposits.ts';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { Projection } from '../../projections/contract/projection.ts';
import { reserve } from '../../projections/reserve/reserve.ts';
import { rideMarket } from '../../projections/ride-market/ride-market.ts';
import { series } from '../../projections/series/series.ts';
import { watch } from '../../projections/watch/watch.ts';
import type { Service } from '../runtime/process/main.ts';
import { project, type ProjectorConfig } from './service.ts';

type Use<Result> = <Event extends { readonly type: string }>(
  projection: Projection<Event>,
) => Result;

/** A projection, without the type of its events. */
export interface Named extends Pick<
  Projection,
  'name' | 'version' | 'topics' | 'tables' | 'table_sql' | 'index_sql'
> {
  run(service: Service<ProjectorConfig>): Promise<void>;
  /** passes the projection on with the type of its events */
  with<Result>(use: Use<Result>): Result;
}

function named<Event extends { readonly type: string }>(projection: Projection<Event>): Named {
  const { name, version, topics, tables, table_sql, index_sql } = projection;
  return {
    name,
    version,
    topics,
    tables,
    table_sql,
    index_sql,
    run: (service) => project(projection, service),
    with: (use) => use(projection),
  };
}

export const PROJECTIONS: readonly Named[] = [
  named(explorer),
  named(reserve),
  named(deposits),
  named(watch),
  named(rideMarket),
  named(series),
];

/** The projection of that name; refuses other names with a list of all. */
export function projectionNamed(name: string | undefined): Named | { readonly refused: string } {
  const found = PROJECTIONS.find((projection) => projection.name === name);
  return (
    found ?? {
      refused: `usage: projector <name>, where <name> is one of: ${PROJECTIONS.map((each) => each.name).join(', ')}`,
    }
  );
}

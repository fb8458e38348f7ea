/** `ops rebuild`: switches a projection to tables rebuilt from the log, or back. */
import { rebuild as rebuildTables, rollback } from '../../projector/rebuild/rebuild.ts';
import { jsonOf, print } from '../connections.ts';
import { withProjection, type ProjectionArguments } from './steps.ts';

export interface RebuildArguments extends ProjectionArguments {
  readonly rollback: boolean | undefined;
}

export async function rebuild(args: RebuildArguments): Promise<number> {
  const begun = performance.now();
  const { projection } = args;
  const rebuilt = await withProjection(args, args.rollback === true ? rollback : rebuildTables);
  const seconds = Math.round(performance.now() - begun) / 1_000;
  const { version, kept_version: kept, records } = rebuilt;
  print(
    args.json === true
      ? jsonOf({ step: 'done', projection, ...rebuilt, seconds })
      : `done         ${projection} is read from other tables now (version ${version}), ${records} records folded in ${seconds} s; the previous ones (version ${kept}) are kept: ops rebuild ${projection} --rollback`,
  );
  return 0;
}

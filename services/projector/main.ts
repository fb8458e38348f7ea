/**
 * `projector <name>`: folds topics into the tables of one projection. A second process of the same
 * name stands by to take over.
 */
import { ConfigError } from '../runtime/process/config.ts';
import { runMain } from '../runtime/process/main.ts';
import { readProjectorConfig } from './config.ts';
import { projectionNamed } from './registry.ts';

const projection = projectionNamed(process.argv[2]);

await runMain(
  'refused' in projection ? 'projector' : `projector-${projection.name}`,
  (env) => {
    if ('refused' in projection) throw new ConfigError([projection.refused]);
    return { ...readProjectorConfig(env), projection };
  },
  (service) => service.config.projection.run(service),
);

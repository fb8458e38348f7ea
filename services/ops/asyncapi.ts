/** `ops asyncapi`: the topics as an AsyncAPI document, from the schemas of this checkout. */
import { readFileSync } from 'node:fs';
import { asyncApi } from '../../schemas/asyncapi.ts';
import { writeOut } from './tail/output.ts';
import type { Commands, Run } from './usage.ts';

export function addAsyncapi(commands: Commands, run: Run): void {
  commands.command(
    'asyncapi',
    'print the topics as an AsyncAPI 3.0 document',
    (command) =>
      command.epilogue(
        'npm run --silent ops -- asyncapi > schemas/asyncapi.json renews the file, npx prettier --write schemas/asyncapi.json formats it.',
      ),
    run(async () => {
      const document = asyncApi(({ avsc }) => {
        const schema: Record<string, unknown> = JSON.parse(readFileSync(avsc, 'utf8'));
        return schema;
      });
      await writeOut(`${JSON.stringify(document, null, 2)}\n`);
      return 0;
    }),
  );
}

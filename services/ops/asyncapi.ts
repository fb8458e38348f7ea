/** `ops asyncapi`: the topics as an AsyncAPI document, from the schemas of this checkout. */
import { readFileSync } from 'node:fs';
import { asyncApi } from '../../schemas/asyncapi.ts';
import { writeOut } from './tail/output.ts';
import { readArguments, refuseWords } from './usage.ts';

const USAGE = `usage: npm run ops -- asyncapi [--help]

Prints the AsyncAPI 3.0 document of the topics, as JSON. It is made from schemas/; npm run --silent ops -- asyncapi > schemas/asyncapi.json renews the file,
npx prettier --write schemas/asyncapi.json its form.
`;

const OPTIONS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

/** `args` are those behind `asyncapi`. The exit code. */
export async function asyncapi(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  refuseWords('asyncapi', positionals, USAGE);
  const document = asyncApi(({ avsc }) => {
    const schema: Record<string, unknown> = JSON.parse(readFileSync(avsc, 'utf8'));
    return schema;
  });
  await writeOut(values.help ? USAGE : `${JSON.stringify(document, null, 2)}\n`);
  return 0;
}

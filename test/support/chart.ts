/** The manifests of the chart, as Helm renders its templates with values.yaml. */
import { parse, parseAllDocuments } from 'yaml';
import { chartTemplates, templateText } from '../../infra/kubernetes/chart.ts';
import { textOf } from './compose.ts';

export const values: object = parse(textOf('infra/kubernetes/values.yaml'));

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The value as Helm's `quote` and `int` write it; a required one that is empty is chosen here. */
export function rendered(template: string): string {
  return template.replaceAll(/\{\{ \.Values\.([\w.]+)((?: \| [^}]+)?) \}\}/g, (_, path, pipe) => {
    const found: unknown = String(path)
      .split('.')
      .reduce<unknown>((part, key) => Reflect.get(Object(part), key), values);
    if (found === undefined) throw new Error(`values.yaml has no ${String(path)}`);
    if (typeof found === 'number')
      return JSON.stringify(String(pipe).endsWith('int') ? found : `${found}`);
    const chosen = String(pipe).includes('required') && found === '' ? 'chosen' : found;
    return JSON.stringify(chosen);
  });
}

/** The text of each template by its file name. */
export const templates = Object.entries(chartTemplates()).map(
  ([name, made]) => [name, templateText(made)] as const,
);

export const manifests: readonly Manifest[] = templates.flatMap(([name, text]) =>
  parseAllDocuments(rendered(text)).map((document): Manifest => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${name} is no YAML: mend it`, { cause: error });
    return document.toJS();
  }),
);

/** The OpenAPI document as one page for people: no script, nothing to load. */
import {
  headerOf,
  responseOf,
  schemaOf,
  type Json,
  type MediaType,
  type OpenApi,
  type Operation,
  type Parameter,
  type Schema,
} from '../../../schemas/openapi.ts';
import { DOCS_STYLE } from './docs-style.ts';

export function docsPage(document: OpenApi): string {
  const { info, tags } = document;
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<title>${escaped(info.title)}</title><style>${DOCS_STYLE}</style></head><body><div class="page">` +
    `<nav aria-label="Contents"><a href="#top"><strong>${escaped(info.title)}</strong></a>${tags.map((tag) => contents(document, tag.name)).join('')}</nav>` +
    `<main id="top"><h1>${escaped(info.title)}</h1><p class="lead">${escaped(info.summary)}. Version ${escaped(info.version)}, also as <a href="/openapi.json">OpenAPI</a>.</p>` +
    `${prose(info.description)}${tags.map((tag) => section(document, tag)).join('')}</main></div></body></html>`
  );
}

interface Entry {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly operation: Operation;
}

function entriesOf({ paths }: OpenApi, tag: string): readonly Entry[] {
  const entries = Object.entries(paths).flatMap(([path, { post, get }]) =>
    (['POST', 'GET'] as const).flatMap((method): Entry[] => {
      const operation = method === 'POST' ? post : get;
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
  return entries.filter(({ operation }) => operation.tags.includes(tag));
}

function contents(document: OpenApi, tag: string): string {
  const links = entriesOf(document, tag).map(({ path, method, operation: { operationId } }) => {
    const verb = method === 'GET' ? '' : `${method} `;
    return `<a href="#${escaped(operationId)}">${verb}${escaped(path)}</a>`;
  });
  return `<h2>${escaped(tag)}</h2>${links.join('')}`;
}

function section(
  document: OpenApi,
  { name, description }: { readonly name: string; readonly description: string },
): string {
  const articles = entriesOf(document, name).map((entry) => article(document, entry));
  return `<section><h2>${escaped(name)}</h2><p class="lead">${escaped(description)}</p>${articles.join('')}</section>`;
}

function article(document: OpenApi, { path, method, operation }: Entry): string {
  const {
    operationId,
    summary,
    description = '',
    parameters,
    security = document.security,
  } = operation;
  const example = escaped(exampleOf(path, parameters));
  const isOpen = method === 'GET' && security.length === 0;
  return [
    `<article id="${escaped(operationId)}"><h3>${escaped(summary)}</h3>`,
    `<p class="signature"><span class="method">${method}</span><code>${escaped(path)}</code></p>`,
    prose(description),
    parameters.length === 0 ? '' : `<h4>Parameters</h4>${parametersTable(parameters)}`,
    isOpen
      ? `<p>Try <a href="${example}">${example}</a></p>`
      : `<pre>${method} ${example}${security.length === 0 ? '' : AUTHORIZATION}</pre>`,
    `${answers(document, operation)}</article>`,
  ].join('');
}

const AUTHORIZATION = '\nAuthorization: Bearer &lt;token&gt;';

/** An address to try: the path with its examples in place, and what must be asked. */
function exampleOf(path: string, parameters: readonly Parameter[]): string {
  const needed = parameters.filter(({ in: where, required }) => where === 'query' && required);
  const query = needed
    .map(({ name, example = '' }) => `${name}=${encodeURIComponent(example)}`)
    .join('&');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    String(parameters.find((parameter) => parameter.name === name)?.example),
  );
  return query === '' ? filled : `${filled}?${query}`;
}

function parametersTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: where, required, description, schema }) => [
    `<code>${escaped(name)}</code>${required ? ' <span class="required">required</span>' : ''}`,
    where,
    kindOf(schema),
    marked(description),
  ]);
  return table(['Name', 'In', 'Type', 'Meaning'], rows);
}

function answers(document: OpenApi, { responses }: Operation): string {
  const rows = Object.entries(responses).map(([status, used]) => {
    const { description, headers = {} } = responseOf(document, used);
    const named = Object.entries(headers).filter(
      ([, each]) => headerOf(document, each).schema.const === undefined,
    );
    return [
      `<code>${escaped(status)}</code>`,
      marked(description),
      named.map(([name]) => `<code>${escaped(name)}</code>`).join(' '),
    ];
  });
  const [success] = Object.entries(responses).flatMap(([status, used]) =>
    status === '200' ? [responseOf(document, used)] : [],
  );
  const bodies = Object.entries(success?.content ?? {}).map(([media, body]) =>
    answerBody(document, media, body),
  );
  return `<h4>Answers</h4>${table(['Status', 'Meaning', 'Headers'], rows)}${bodies.join('')}`;
}

function answerBody(
  document: OpenApi,
  media: string,
  { schema, example, examples = {} }: MediaType,
): string {
  const fields = fieldTables(document, schema);
  const shown = example === undefined ? [] : [{ summary: 'Example', value: example }];
  const all = [...shown, ...Object.values(examples)];
  const texts = all.map(
    ({ summary = 'Example', value }) =>
      `<details><summary>${escaped(summary)}</summary><pre>${escaped(pretty(value))}</pre></details>`,
  );
  return fields === ''
    ? `<p><code>${escaped(media)}</code></p>`
    : `<h4>Fields</h4>${fields}${texts.join('')}`;
}

function pretty(value: Json): string {
  return JSON.stringify(value, null, 2);
}

/** One table, or one for each form that the answer can have. */
function fieldTables(document: OpenApi, used: Schema): string {
  const schema = schemaOf(document, used);
  if (schema.oneOf !== undefined) {
    return schema.oneOf
      .map(
        (form) =>
          `<p><strong>${escaped(form.title ?? '')}</strong>. ${escaped(form.description ?? '')}</p>${fieldTables(document, form)}`,
      )
      .join('');
  }
  const rows = fieldRows(document, schema, '');
  return rows.length === 0 ? '' : table(['Field', 'Type', 'Meaning'], rows);
}

type Cells = readonly string[];

function fieldRows(
  document: OpenApi,
  { properties = {} }: Schema,
  prefix: string,
): readonly Cells[] {
  const rows: Cells[] = [];
  for (const [name, used] of Object.entries(properties)) {
    const { inner, orNull } = withoutNull(used);
    const schema = schemaOf(document, inner);
    const description = used.description ?? schema.description ?? '';
    rows.push([
      `<code>${escaped(prefix + name)}</code>`,
      `${kindOf(schema)}${orNull ? ' or null' : ''}`,
      marked(description),
    ]);
    rows.push(...fieldRows(document, schema, `${prefix}${name}.`));
    if (schema.items !== undefined)
      rows.push(...fieldRows(document, schemaOf(document, schema.items), `${prefix}${name}[].`));
  }
  return rows;
}

function withoutNull(schema: Schema): { readonly inner: Schema; readonly orNull: boolean } {
  const [inner, other] = schema.oneOf ?? [];
  return inner !== undefined && other?.type === 'null'
    ? { inner, orNull: true }
    : { inner: schema, orNull: false };
}

function kindOf({
  type = '',
  const: only,
  enum: words,
  minimum,
  maximum,
  maxLength,
  default: fallback,
}: Schema): string {
  if (only !== undefined) return `<code>${escaped(JSON.stringify(only))}</code>`;
  if (words !== undefined) return words.map((word) => `<code>${escaped(word)}</code>`).join(' ');
  const bounds =
    minimum === undefined
      ? ''
      : maximum === undefined
        ? `, ${minimum} or more`
        : `, ${minimum} to ${maximum}`;
  const length = maxLength === undefined ? '' : `, at most ${maxLength} characters`;
  return `${escaped(type)}${bounds}${length}${fallback === undefined ? '' : `; ${escaped(JSON.stringify(fallback))} when not given`}`;
}

function table(head: readonly string[], rows: readonly Cells[]): string {
  const heads = head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join('');
  const body = rows
    .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('');
  return `<div class="scroll"><table><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** Paragraphs. */
function prose(text: string): string {
  const paragraphs = text.split('\n\n').filter((paragraph) => paragraph !== '');
  return paragraphs.map((paragraph) => `<p>${marked(paragraph)}</p>`).join('');
}

/** **strong** and `code`, as the document writes them. */
function marked(text: string): string {
  return escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

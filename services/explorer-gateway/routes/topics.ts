/** The AsyncAPI document of the topics, and the same as a page, without a script. */
import { readFileSync } from 'node:fs';
import { asyncApi } from '../../../schemas/asyncapi.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { PAGE_HEADERS, text } from '../../runtime/http/document-routes.ts';

/** A type of Avro, or its name. */
type Avro = string | readonly Avro[] | Definition;

interface Definition {
  readonly type: Avro;
  readonly name?: string;
  readonly logicalType?: string;
  readonly size?: number;
  readonly items?: Avro;
  readonly values?: Avro;
  readonly fields?: readonly {
    readonly name: string;
    readonly type: Avro;
    readonly doc?: string;
  }[];
}

interface Message {
  readonly name: string;
  readonly summary?: string;
  readonly payload: { readonly schema: Definition };
}

interface Document {
  readonly info: { readonly title: string; readonly description: string };
  readonly channels: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly messages: object;
        readonly bindings: { readonly kafka: { readonly partitions: number } };
      }
    >
  >;
  readonly components: { readonly messages: Readonly<Record<string, Message>> };
}

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
p { white-space: pre-line; }
div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; border-bottom: 1px solid #8884; }
td:first-child { font-family: ui-monospace, monospace; }
`;

export function topicRoutes(): readonly GetRoute[] {
  const json = JSON.stringify(asyncApi((file) => readFileSync(file, 'utf8')));
  const page = pageOf(JSON.parse(json));
  return [
    text('/docs/asyncapi.json', 'application/json; charset=utf-8', json),
    text('/docs/topics', 'text/html; charset=utf-8', page, PAGE_HEADERS),
    text('/docs/topics.css', 'text/css; charset=utf-8', STYLE),
  ];
}

function pageOf({ info, channels, components: { messages } }: Document): string {
  const topics = Object.entries(channels).map(([name, channel]) => {
    const events = Object.keys(channel.messages).flatMap((type) => messages[type] ?? []);
    const { partitions } = channel.bindings.kafka;
    return `<h2 id="${name}">${name}</h2>
<p>${escaped(channel.description)} Partitions: ${partitions}.</p>
${events.map(eventOf).join('')}`;
  });
  const links = Object.keys(channels).map((name) => `<li><a href="#${name}">${name}</a></li>`);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escaped(info.title)}</title>
    <link rel="stylesheet" href="/docs/topics.css">
  </head>
  <body>
    <h1>${escaped(info.title)}</h1>
    <p>${escaped(info.description)}</p>
    <p>The same as AsyncAPI: <a href="/docs/asyncapi.json">/docs/asyncapi.json</a></p>
    <ul>${links.join('')}</ul>
    ${topics.join('')}
  </body>
</html>
`;
}

function eventOf({ name, summary = '', payload: { schema } }: Message): string {
  const records = recordsIn(schema).map(({ name: record = '', fields = [] }) => {
    const rows = fields.map(
      (field) =>
        `<tr><td>${field.name}</td><td>${typeText(field.type)}</td><td>${escaped(field.doc ?? '')}</td></tr>`,
    );
    const heading = record === name ? '' : `<h4>${record}</h4>`;
    return `${heading}<div><table><tr><th>field</th><th>type</th><th>meaning</th></tr>${rows.join('')}</table></div>\n`;
  });
  return `<h3 id="${name}">${name}</h3>\n<p>${escaped(summary)}</p>\n${records.join('')}`;
}

/** The record, and those within its fields. */
function recordsIn(type: Avro): readonly Definition[] {
  if (typeof type === 'string') return [];
  if (!('type' in type)) return type.flatMap(recordsIn);
  const { fields = [], items = [], values = [] } = type;
  const within = [...fields.map((field) => field.type), items, values].flatMap(recordsIn);
  return type.type === 'record' ? [type, ...within] : within;
}

function typeText(type: Avro): string {
  if (typeof type === 'string') return type;
  if (!('type' in type)) return type.map(typeText).join(' or ');
  const { name, logicalType, size, items, values } = type;
  if (items !== undefined) return `list of ${typeText(items)}`;
  if (values !== undefined) return `map of ${typeText(values)}`;
  if (size !== undefined) return `${name}, ${size} bytes`;
  return name ?? logicalType ?? typeText(type.type);
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

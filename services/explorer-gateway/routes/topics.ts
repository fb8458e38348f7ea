/** The AsyncAPI document of the topics, and the same as a page, without a script. */
import { readFileSync } from 'node:fs';
import { asyncApi } from '../../../schemas/asyncapi.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { text } from '../../runtime/http/document-routes.ts';
import { htmlPage, htmlParagraphs, htmlText, PAGE_HEADERS } from '../../runtime/http/html-page.ts';

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

export function topicRoutes(): readonly GetRoute[] {
  const json = JSON.stringify(asyncApi((file) => readFileSync(file, 'utf8')));
  const page = pageOf(JSON.parse(json));
  return [
    text('/docs/asyncapi.json', 'application/json; charset=utf-8', json),
    text('/docs/topics', 'text/html; charset=utf-8', page, PAGE_HEADERS),
  ];
}

function pageOf({ info, channels, components: { messages } }: Document): string {
  const topics = Object.entries(channels).map(([name, channel]) => {
    const events = Object.keys(channel.messages).flatMap((type) => messages[type] ?? []);
    const { partitions } = channel.bindings.kafka;
    return `<h2 id="${name}">${name}</h2>
<p>${htmlText(channel.description)} Partitions: ${partitions}.</p>
${events.map(eventOf).join('')}`;
  });
  const links = Object.keys(channels).map((name) => `<li><a href="#${name}">${name}</a></li>`);
  return htmlPage({
    title: htmlText(info.title),
    head: '<link rel="icon" href="/docs/favicon-32x32.png">',
    main: `<h1>${htmlText(info.title)}</h1>
${htmlParagraphs(info.description)}
<p>The same as AsyncAPI: <a href="/docs/asyncapi.json">/docs/asyncapi.json</a></p>
<ul>${links.join('')}</ul>
${topics.join('')}`,
  });
}

function eventOf({ name, summary = '', payload: { schema } }: Message): string {
  const records = recordsIn(schema).map(({ name: record = '', fields = [] }) => {
    const rows = fields.map(
      (field) =>
        `<tr><td>${field.name}</td><td>${typeText(field.type)}</td><td>${htmlText(field.doc ?? '')}</td></tr>`,
    );
    const heading = record === name ? '' : `<h4>${record}</h4>`;
    return `${heading}<div><table><tr><th>field</th><th>type</th><th>meaning</th></tr>${rows.join('')}</table></div>\n`;
  });
  return `<h3 id="${name}">${name}</h3>\n<p>${htmlText(summary)}</p>\n${records.join('')}`;
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

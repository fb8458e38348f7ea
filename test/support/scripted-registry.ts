/** A schema registry that a test empties and fills: the used part of Confluent's API. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Version {
  readonly id: number;
  readonly schema: string;
}

type Answer = readonly [status: number, body: unknown];

interface Asked {
  readonly schema?: string;
  readonly id?: number;
  readonly mode?: string;
  readonly compatibility?: string;
}

export class ScriptedRegistry {
  readonly subjects = new Map<string, Version[]>();
  readonly compatibility = new Map<string, string>();
  /** what is answered instead of a schema, by its id */
  readonly odd = new Map<number, Answer>();
  /** method and path of each request */
  readonly asked: string[] = [];
  /** how many settings lose a race, as at Apicurio when two services set the same */
  races = 0;
  /** whether a setting is kept; it is answered as if it were */
  keeps_settings = true;
  /** the header that requests must have */
  authorization: string | undefined;
  readonly #modes = new Map<string, string>();
  #next = 1;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async open(): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry();
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get url(): string {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets everything; the next schema gets id `next`. */
  empty(next = 1): void {
    this.subjects.clear();
    this.compatibility.clear();
    this.#next = next;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body] = await this.#answer(request);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const [path = ''] = (request.url ?? '').split('?');
    this.asked.push(`${request.method} ${path}`);
    const body = await text(request);
    if (this.authorization !== undefined && request.headers.authorization !== this.authorization)
      return [401, { error_code: 401, message: 'who are you?' }];
    const asked: Asked = body === '' ? {} : JSON.parse(body);
    const [kind, name = '', part, number] = path.slice(1).split('/').map(decodeURIComponent);
    if (kind === 'schemas') return this.#schema(Number(part));
    if (kind === 'mode') {
      this.#modes.set(name, asked.mode ?? '');
      return [200, asked];
    }
    if (kind === 'config') {
      if (asked.compatibility !== undefined && this.races-- > 0)
        return [409, { error_code: 409, message: "A rule named 'COMPATIBILITY' already exists." }];
      if (asked.compatibility !== undefined && this.keeps_settings)
        this.compatibility.set(name, asked.compatibility);
      const level = this.compatibility.get(name);
      return found(level === undefined ? undefined : { compatibilityLevel: level });
    }
    if (kind !== 'subjects') return [404, { error_code: 0 }];
    if (name === '') return [200, [...this.subjects.keys()]];
    const versions = this.subjects.get(name) ?? [];
    if (request.method === 'POST') return [200, { id: this.#register(name, versions, asked) }];
    if (number !== undefined) return found(versions[Number(number) - 1]);
    return found(versions.length === 0 ? undefined : versions.map((_, at) => at + 1));
  }

  #schema(id: number): Answer {
    // as Apicurio answers to what is no number of 32 bits with a sign
    if (id !== (id | 0))
      return [404, { error_code: 0, message: 'RESTEASY003870: Unable to extract parameter' }];
    const stored = [...this.subjects.values()].flat().find((version) => version.id === id);
    return this.odd.get(id) ?? found(stored);
  }

  #register(subject: string, versions: Version[], { schema = '', id }: Asked): number {
    const known = [...this.subjects.values()].flat().find((each) => each.schema === schema);
    const imported = this.#modes.get(subject) === 'IMPORT' ? id : undefined;
    const version = { id: imported ?? known?.id ?? this.#next, schema };
    this.#next = Math.max(this.#next, version.id + 1);
    if (!versions.some((each) => each.schema === schema))
      this.subjects.set(subject, [...versions, version]);
    return version.id;
  }
}

function found(body: unknown): Answer {
  return body === undefined ? [404, { error_code: 40403, message: 'not found' }] : [200, body];
}

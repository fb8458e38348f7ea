/**
 * Gives a schema registry the pinned schemas of a log under the ids that they have there.
 * Registries number schemas themselves, but for an import: Confluent's API has a mode for it, which
 * Apicurio 2 does not have. Apicurio imports an archive of its own, and keeps the ids in it when
 * asked to; the schema id of Confluent's API is Apicurio's content id. Both number on behind the
 * highest id.
 * Sources: https://docs.confluent.io/platform/current/schema-registry/develop/api.html#mode and
 * the admin resource of https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/
 */
import { createHash } from 'node:crypto';
import { strToU8, zipSync } from 'fflate';
import type { Pin } from '../../../schemas/schema.ids/pin.ts';
import { sameSchema } from '../../runtime/kafka/avro-schemas.ts';
import { refusal, type SchemaRegistry } from '../../runtime/kafka/schema-registry.ts';

/** By default. An import that is cut off leaves a part; the next one adds the rest. */
const IMPORT_MS = 120_000;

export interface ComparedPin extends Pin {
  /** of the subject, from 1 */
  readonly version: number;
  /** `other`: its id, or its place in the subject, is taken by another schema */
  readonly state: 'present' | 'missing' | 'other';
}

/** Every pin in turn; the pins of one subject stand in the order of their registration. */
export async function comparePins(
  registry: SchemaRegistry,
  pins: readonly Pin[],
): Promise<readonly ComparedPin[]> {
  const bySubject = Map.groupBy(pins, ({ subject }) => subject);
  const compared = [...bySubject].map(async ([subject, own]) => {
    const versions = await registry.versions(subject);
    return Promise.all(
      own.map(async (pin, at) => {
        const named = await registry.schema(pin.id);
        // software of before the pins may have registered versions of which no record came
        const isPresent = versions.some(({ id }) => id === pin.id);
        const isTaken =
          (named !== undefined && !sameSchema(named, pin.schema)) ||
          (!isPresent && versions[at] !== undefined);
        const state = isTaken ? 'other' : isPresent ? 'present' : 'missing';
        return { ...pin, version: at + 1, state } as const;
      }),
    );
  });
  return (await Promise.all(compared)).flat();
}

/** Registers these pins under their ids. Throws faults. */
export async function seedPins(
  registry: SchemaRegistry,
  missing: readonly ComparedPin[],
  import_ms = IMPORT_MS,
): Promise<void> {
  const { pathname, origin } = new URL(registry.url);
  if (pathname.startsWith('/apis/ccompat/'))
    await importArchive(registry, origin, missing, import_ms);
  else await registerWithIds(registry, missing);
  for (const subject of new Set(missing.map((pin) => pin.subject)))
    await registry.setCompatibility(subject);
}

/** Confluent's way. */
async function registerWithIds(
  registry: SchemaRegistry,
  missing: readonly ComparedPin[],
): Promise<void> {
  const send = async (method: 'PUT' | 'POST', path: string, body: object): Promise<void> => {
    const answer = await registry.ask(path, { method, body: JSON.stringify(body) });
    if (answer.status !== 200) throw refusal(`${method} ${path} of ${registry.url}`, answer);
  };
  for (const [subject, pins] of Map.groupBy(missing, (pin) => pin.subject)) {
    const name = encodeURIComponent(registry.wireName(subject));
    await send('PUT', `/mode/${name}?force=true`, { mode: 'IMPORT' });
    try {
      for (const { id, version, schema } of pins)
        await send('POST', `/subjects/${name}/versions`, { id, version, schema });
    } finally {
      await send('PUT', `/mode/${name}`, { mode: 'READWRITE' });
    }
  }
}

async function importArchive(
  registry: SchemaRegistry,
  origin: string,
  missing: readonly ComparedPin[],
  import_ms: number,
): Promise<void> {
  const answer = await registry.ask(new URL('/apis/registry/v2/admin/import', origin), {
    method: 'POST',
    headers: {
      'content-type': 'application/zip',
      'x-registry-preserve-contentid': 'true',
      // no service uses these ids, and those of other schemas may be the same
      'x-registry-preserve-globalid': 'false',
    },
    body: archiveOf(missing.map((pin) => ({ ...pin, subject: registry.wireName(pin.subject) }))),
    answer_ms: import_ms,
  });
  if (answer.status !== 204) throw refusal(`the import into ${registry.url}`, answer);
}

/** As Apicurio 2 exports them. */
function archiveOf(pins: readonly ComparedPin[]): Uint8Array<ArrayBuffer> {
  const files = new Map([
    ['manifest-1.Manifest.json', JSON.stringify({ systemName: 'ops', exportVersion: '1.0' })],
  ]);
  const newest = new Map(pins.map((pin) => [pin.subject, pin.version]));
  for (const { id, subject, schema, version } of pins) {
    const contentHash = createHash('sha256').update(schema).digest('hex');
    const content = { contentId: id, contentHash, artifactType: 'AVRO' };
    files.set(`content/${contentHash}.Content.json`, JSON.stringify(content));
    files.set(`content/${contentHash}.Content.data`, schema);
    const path = `groups/default/artifacts/${encodeURIComponent(subject)}/versions/${version}`;
    const artifact = {
      // one is required, and not kept
      globalId: id,
      artifactId: subject,
      version: String(version),
      versionId: version,
      artifactType: 'AVRO',
      state: 'ENABLED',
      createdBy: 'ops',
      createdOn: Date.now(),
      isLatest: version === newest.get(subject),
      contentId: id,
    };
    files.set(`${path}.ArtifactVersion.json`, JSON.stringify(artifact));
  }
  const entries = [...files].map(([path, text]) => [path, strToU8(text)] as const);
  return zipSync(Object.fromEntries(entries));
}

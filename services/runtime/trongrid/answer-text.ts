/** A list of 200 rows is some 100 KiB, a receipt with hundreds of logs as much. */
const BYTES_MAX = 16 * 1024 * 1024;

/** The body as text; undefined when it is longer than any answer can be: the rest is not read. */
export async function textOf(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** JSON in the bytes of a body. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `not`: what the bytes should be and are not. */
export function jsonIn(
  body: Buffer,
): { readonly json: unknown } | { readonly not: 'JSON' | 'UTF-8' } {
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    return { not: 'UTF-8' };
  }
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { not: 'JSON' };
  }
}

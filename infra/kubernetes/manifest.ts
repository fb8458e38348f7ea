/** Parts that all templates of the chart share. */

export type Manifest = Readonly<Record<string, unknown>>;

export const PART = 'app.kubernetes.io/name';
/** The user of the image. */
const USER = 1_000;
export const CONFINED_POD = {
  runAsNonRoot: true,
  runAsUser: USER,
  seccompProfile: { type: 'RuntimeDefault' },
};
export const CONFINED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** A value that Helm puts in, as text. */
export function value(path: string): string {
  return `{{ .Values.${path} | quote }}`;
}

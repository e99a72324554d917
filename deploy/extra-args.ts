/** The user's further flags: as arguments of the container, and the parts that other objects need. */
import { readFlags } from '../src/config/sources/flags.ts';
import { PAUSES_SUFFIX } from '../src/kubernetes/projection/pauses.ts';
import { LEASE_NAME } from '../src/tools/doctor/required-access.ts';
import { STATUS_NAME } from '../src/planning/explain/scale-up-events.ts';
import { plainly, type Json, type JsonMap, type Lines } from './notation.ts';

/** The entries of a map in Helm's order. */
export const mapOf = (value: Json | undefined): readonly (readonly [string, Json])[] => {
  const entries = Object.entries((value ?? {}) as JsonMap);
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
};

/** Helm holds numbers as floats, which its own formatting writes as 1e+06; JSON does not. */
export function textOf(value: string): string {
  return `(ternary ${value} (toJson ${value}) (kindIs "string" ${value}))`;
}

/** A list unchanged, or a map. In a map, `_` and everything after it only makes keys unique; a flag may have no value. */
export const ARGS: Lines = {
  helm: [
    '{{- if kindIs "map" .Values.extraArgs }}',
    '{{- range $key, $value := .Values.extraArgs }}',
    '{{- $flag := $key | splitList "_" | first | printf "--%s" }}',
    '{{- if kindIs "invalid" $value }}',
    '- {{ $flag | toJson }}',
    '{{- else if kindIs "slice" $value }}',
    '{{- range $value }}',
    `- {{ printf "%s=%s" $flag ${textOf('.')} | toJson }}`,
    '{{- end }}',
    '{{- else }}',
    `- {{ printf "%s=%s" $flag ${textOf('$value')} | toJson }}`,
    '{{- end }}',
    '{{- end }}',
    '{{- else }}',
    '{{- range .Values.extraArgs }}',
    '- {{ toJson . }}',
    '{{- end }}',
    '{{- end }}',
  ],
  plain: ({ extraArgs }) => {
    if (Array.isArray(extraArgs)) return extraArgs as readonly Json[];
    return mapOf(extraArgs).flatMap(([key, value]) => {
      const flag = `--${key.split('_')[0] ?? ''}`;
      if (value === null) return [flag];
      return (Array.isArray(value) ? (value as readonly Json[]) : [value]).map((one) => `${flag}=${plainly(one ?? null)}`);
    });
  },
};

/**
 * A name that the last such flag sets, else the configuration, else the default. A flag in a list may have any form that the
 * daemon accepts. `items`: the lines of the list that use `$name`.
 */
function nameLines(flag: string, key: 'statusConfigMapName' | 'leaseName', byDefault: string, suffixes: readonly string[]): Lines {
  return {
    helm: [
      `{{- $name := get (get (.Values.config | default dict) "kubernetes" | default dict) "${key}" | default "${byDefault}" }}`,
      '{{- $words := kindIs "slice" .Values.extraArgs | ternary .Values.extraArgs list }}',
      '{{- if kindIs "map" .Values.extraArgs }}',
      '{{- range $key, $value := .Values.extraArgs }}',
      '{{- range (kindIs "slice" $value | ternary $value (list $value)) }}',
      '{{- $words = append $words (printf "--%s=%s" ($key | splitList "_" | first) (toString .)) }}',
      '{{- end }}',
      '{{- end }}',
      '{{- end }}',
      `{{- range regexFindAll "(?m)^--?${flag.replaceAll('-', '[-_]')}[=\\n].*$" (join "\\n" $words) -1 }}`,
      '{{- $name = regexReplaceAll "^[^=\\n]*[=\\n]" . "" }}',
      '{{- end }}',
      ...suffixes.map((suffix) => `- {{ ${suffix === '' ? '$name' : `printf "%s${suffix}" $name`} | toJson }}`),
    ],
    plain: (values) => {
      const words = ARGS.plain(values).map(plainly);
      const flagged = readFlags(words).given.findLast(({ flag: { name } }) => name === flag)?.text;
      const { kubernetes } = (values['config'] ?? {}) as JsonMap;
      const name = flagged ?? (((kubernetes ?? {}) as JsonMap)[key] || byDefault);
      return suffixes.map((suffix) => `${plainly(name)}${suffix}`);
    },
  };
}

export const STATUS_MAP_NAME = nameLines('status-config-map-name', 'statusConfigMapName', STATUS_NAME, ['']);

const leaseNames = (suffixes: readonly string[]): Lines => nameLines('leader-elect-resource-name', 'leaseName', LEASE_NAME, suffixes);

/** A dry run leads under a name of its own. */
export const LEASE_NAMES = leaseNames(['', '-dry-run']);

/** The ConfigMaps whose names derive from the lease's, by their names in a default installation. */
export const NAMES_AFTER_LEASE: Readonly<Record<string, Lines>> = {
  [`${LEASE_NAME}-templates`]: leaseNames(['-templates']),
  [`${LEASE_NAME}-memory`]: leaseNames(['-memory']),
  [`${LEASE_NAME}${PAUSES_SUFFIX}`]: leaseNames([PAUSES_SUFFIX]),
};

/** Labels and label selectors, as Kubernetes defines them. */
export type Labels = Readonly<Record<string, string>>;

/** The label with the namespace's name. The API server sets it on every namespace. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name';

/** One requirement of a label selector or a node selector term. `Gt` and `Lt` exist only for nodes. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/** A label selector with `matchLabels` turned into `In` requirements. Without requirements it matches everything. */
export interface LabelSelector {
  readonly requirements: readonly Requirement[];
}

/** One term of required node affinity: all requirements must hold. `fields` match `metadata.name` only. */
export interface NodeSelectorTerm {
  readonly expressions: readonly Requirement[];
  readonly fields: readonly Requirement[];
}

/** Whether one requirement holds. An absent label satisfies only `NotIn` and `DoesNotExist`; `Gt` and `Lt` take one whole number. */
export function matchesRequirement(requirement: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && requirement.values.includes(value);
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt':
      return comparesAsInteger(requirement, value);
  }
}

function comparesAsInteger({ operator, values }: Requirement, value: string | undefined): boolean {
  const [own, bound] = [integerOf(value), integerOf(values[0])];
  if (own === undefined || bound === undefined || values.length > 1) return false;
  return operator === 'Gt' ? own > bound : own < bound;
}

const MOST = 2n ** 63n;

/** As Kubernetes parses it: base ten and 64 bits. Other texts are not numbers. */
function integerOf(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return value >= -MOST && value < MOST ? value : undefined;
}

export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  return selector.requirements.every((requirement) => matchesRequirement(requirement, labels));
}
